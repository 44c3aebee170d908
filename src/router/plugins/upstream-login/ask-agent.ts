import { isObject } from '#kit/json.ts';
import type { Target } from '#routing/target.ts';
import {
  bindUpstreamLogin,
  type UpstreamLoginAnswer,
  type UpstreamLoginRequest,
  upstreamLoginPath,
} from '#wire/upstream-login.ts';
import type { Caller } from '../../caller.ts';
import { RouterError } from '../../errors.ts';
import type { Services } from '../../services.ts';
import { collect } from '../../upstream/collect.ts';

const mostBytes = 64 * 1024;

/** What an agent said to it: how it stands, or why not, for people to read. */
export type AgentSaid =
  | { readonly status: 200; readonly answer: UpstreamLoginAnswer }
  | { readonly status: number; readonly problem: string };

/** Asks an agent about the login of this person at the server elsewhere that it is. */
export async function askAgent(
  { sender }: Pick<Services, 'sender'>,
  { namespace, name }: Target,
  caller: Caller,
  request: UpstreamLoginRequest,
): Promise<AgentSaid> {
  try {
    const { status, text } = await collect(
      sender,
      {
        agent: `${namespace}/${name}`,
        method: 'POST',
        path: upstreamLoginPath,
        headers: { accept: 'application/json', 'content-type': 'application/json' },
        body: JSON.stringify(request),
        binding: bindUpstreamLogin(request),
        caller,
      },
      { maxBytes: mostBytes },
    );
    const said: unknown = JSON.parse(text);
    if (status === 200 && isAnswer(said)) return { status, answer: said };
    const problem = isObject(said) && typeof said['error'] === 'string' ? said['error'] : undefined;
    return { status: status === 404 ? 404 : 502, problem: problem ?? 'The agent did not understand.' };
  } catch (error) {
    const isKnown = error instanceof RouterError;
    return { status: 502, problem: isKnown ? error.message : 'The agent did not understand.' };
  }
}

function isAnswer(value: unknown): value is UpstreamLoginAnswer {
  return isObject(value) && typeof value['host'] === 'string' && typeof value['isLoggedIn'] === 'boolean';
}
