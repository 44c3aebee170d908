import { isObject } from '#kit/json.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import type { Router } from './router.ts';

/** The router answered 401 with `body`: what is the matter, and what is possible there. */
export function notKnown({ url, key }: Pick<Router, 'url' | 'key'>, body: string): CliError {
  const { mode, message, login } = parse(body);
  if (mode === 'sso')
    return new CliError(
      exitCodes.refused,
      'only people who log in with a browser come in there (auth.mode sso): no API key counts',
      `Open ${url}${typeof login === 'string' ? login : '/auth/login'} in a browser. For programs name \`issuers\` in the agent's auth, and set PLOINKY_API_KEY to a token of one.`,
    );
  if (!key)
    return new CliError(
      exitCodes.refused,
      'the router asks who calls',
      'Make a key with `ploinky key create NAME --user USER --agent AGENT` and set PLOINKY_API_KEY to it.',
    );
  const isExpired = typeof message === 'string' && message.includes('expired');
  return new CliError(
    exitCodes.refused,
    `the key in PLOINKY_API_KEY ${isExpired ? 'has expired' : 'is not known, or revoked'}`,
    'Make another one with `ploinky key create NAME --user USER --agent AGENT`; `ploinky key list --agent AGENT` shows those there are.',
  );
}

/** `plk_<id>_<secret>`, or a token of an issuer (a JWT). */
const forms = [/^plk_[A-Za-z0-9]{4,32}_[A-Za-z0-9_-]{43}$/, /^[\w-]+\.[\w-]+\.[\w-]*$/];

/** What PLOINKY_API_KEY holds. Throws `refused` for what can be no key: else it would count as none. */
export function keyFrom(value: string | undefined): string | undefined {
  if (!value || forms.some((form) => form.test(value))) return value;
  throw new CliError(
    exitCodes.refused,
    'the key in PLOINKY_API_KEY is not known, or revoked: it has not the form of a key',
    'A key is plk_, an id, _ and 43 characters, as `ploinky key create` shows it once; take care of blanks and line ends.',
  );
}

function parse(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
