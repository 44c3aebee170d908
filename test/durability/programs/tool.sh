# One line on stdin: number, exit code, bytes of output, where to kill the server (S, E or -), which is done once.
# Writes its own marks.
die() {
  [ -e "$MARKS.$number" ] && return
  : > "$MARKS.$number"
  kill -9 "$SERVER"
}
read -r line
case "$line" in
  '{'*)
    # As an agent-server has it: in JSON.
    line=${line#*'"line":"'}
    line=${line%%'"'*}
    ;;
esac
set -- $line
number=$1 code=$2 size=$3 die=$4
echo "S $number $BOOT" >> "$MARKS"
[ "$die" = S ] && die
printf "%0${size}d" "$number"
echo "E $number $BOOT" >> "$MARKS"
[ "$die" = E ] && die
exit "$code"
