import type { Launch } from '../shim-plan.ts';

/** One that is stricter already stays: an ordinary user may not raise it. Tried first, since a failure ends some shells. */
const limitScript = 'if (ulimit -n "$1") 2>/dev/null; then ulimit -n "$1"; fi; shift; exec "$@"';

/** The launch with a bound on the files that each of its processes may have open, which none of them can raise. */
export function withOpenFiles(launch: Launch, openFiles: number): Launch {
  return {
    ...launch,
    file: '/bin/sh',
    arguments: ['-c', limitScript, 'sh', String(openFiles), launch.file, ...launch.arguments],
  };
}
