/** metav1.MicroTime: RFC 3339 in UTC with exactly six fractional digits, as leases need; from epoch milliseconds. */
export function formatMicroTime(ms: number): string {
  const whole = Math.floor(ms);
  const micros = Math.floor((ms - whole) * 1000);
  return `${new Date(whole).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
}

/** metav1.Time: RFC 3339 in UTC with whole seconds. */
export function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
