import { isSecretName } from '#api/secrets.ts';

/** What the workspace's processes need of the environment of `ploinky up`. */
const kept =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|TMPDIR|TEMP|TMP|XDG_\w+|DBUS_SESSION_BUS_ADDRESS|NODE_\w+|SSL_CERT_\w+|HEALTH_CHECK_ENABLED|PLOINKY_\w+)$/;
const secretLike = /(KEY|SECRET|TOKEN|PASSWORD|CREDENTIALS?)$/;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Divides an environment: everybody who may look into a process sees its environment (`/proc/PID/environ`), so the
 * processes get what they need, and the rest, where secrets are, goes to the controller through a pipe.
 */
export function splitEnvironment(env: Environment): {
  readonly own: Readonly<Record<string, string>>;
  readonly handed: Readonly<Record<string, string>>;
} {
  const own: Record<string, string> = {};
  const handed: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue;
    if (kept.test(name) && !secretLike.test(name)) own[name] = value;
    else if (isSecretName(name)) handed[name] = value;
  }
  return { own, handed };
}
