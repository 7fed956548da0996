# For the scripts of this folder: with -h or --help one prints the comment at its top, and ends.
case ${1:-} in
-h | --help)
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "$0"
    exit
    ;;
esac
