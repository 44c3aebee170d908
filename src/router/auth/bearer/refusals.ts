import { AuthRefused } from '../authenticator.ts';

/** A token that does not count. */
export function invalidToken(description: string): AuthRefused {
  return new AuthRefused({ status: 401, code: 'invalid_token', description });
}

/** A token that counts, but for less than is asked: the client may ask its issuer for `needed` besides what it has. */
export function insufficientScope(needed: readonly string[], held: readonly string[]): AuthRefused {
  return new AuthRefused({
    status: 403,
    code: 'insufficient_scope',
    description: `This needs the scope ${needed.join(' ')}.`,
    challenge: { scope: [...new Set([...held, ...needed])].join(' ') },
  });
}
