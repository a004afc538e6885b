"""typed.py SHELL SETUP LINE...: types each line into an interactive shell, a tab at its end, and prints what the
shell has made of it. It has the shell echo the line instead of running it."""
import os, pty, re, select, signal, sys, time

shell, setup, lines = sys.argv[1], sys.argv[2], sys.argv[3:]
start = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}[shell]
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM="dumb", PS1="> ", INPUTRC="/dev/null")
    os.execvp(start[0], start)

def read_until(mark, seconds=30):
    """What the terminal shows up to a line with the mark alone."""
    seen, end = "", time.time() + seconds
    while not re.search(r"(?m)^%s\r?$" % mark, seen):
        left = end - time.time()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            sys.exit("%s does not answer; it shows: %r" % (shell, seen))
        seen += os.read(terminal, 65536).decode(errors="replace")
    return seen

def wait(seconds):
    """Until nothing more comes for so long."""
    while select.select([terminal], [], [], seconds)[0]: os.read(terminal, 65536)

try:
    os.write(terminal, (setup + "\necho ready''1\n").encode())
    read_until("ready1")
    for i, line in enumerate(lines):
        wait(0.05)
        os.write(terminal, (line + "\t").encode())
        # What is typed after the tab waits until the shell has completed the line.
        # Ctrl-A: to the beginning of the line, to have it echoed between quotes; Ctrl-E: to its end.
        os.write(terminal, b"\x01echo 'typed: \x05'; echo end''%d\n" % i)
        shown = read_until("end%d" % i)
        found = re.findall(r"(?m)^typed: ([^\r\n]*)\r?$", shown)
        print(found[-1] if found else "nothing: %r" % shown)
finally:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
