# For tests that need a library which motley loads when it is first used: sourced. ldd does not know of it; the program
# (or the library that has its insides) holds the name.
built_with() { # NAME: whether this motley would load libNAME
    local insides
    insides=$(ldd "$MOTLEY" | awk '/libmotley/ { print $3 }')
    grep -qaF "lib$1.so." "$MOTLEY" ${insides:+"$insides"}
}
