/** A message of a tool's, as a line of its task's log. */
export function logLine(level: string, data: unknown, logger?: string): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return `[${level}] ${logger === undefined ? '' : `${logger}: `}${text}\n`;
}
