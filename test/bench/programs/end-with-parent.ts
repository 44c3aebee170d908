/** A helper program of a bench ends when whoever started it is gone: its standard input ends then. */
export function endWithParent(): void {
  process.stdin.on('end', () => process.exit(0));
  process.stdin.on('error', () => process.exit(0));
  process.stdin.resume();
}
