# For tests that need a library which motley loads when it is first used: sourced. ldd does not know of it; the program
# (or the library that has its insides) holds the name.
on_demand() { # NAME: the file that this motley would load as libNAME, if it would
    local insides
    insides=$(ldd "$MOTLEY" | awk '/libmotley/ { print $3 }')
    grep -ahoE "lib$1\.so\.[0-9]+" "$MOTLEY" ${insides:+"$insides"} | head -n 1
}
built_with() { [ -n "$(on_demand "$1")" ]; } # NAME
