import type { IncomingMessage, ServerResponse } from 'node:http';
import { standingOf } from './caller.ts';
import type { Services } from './services.ts';

/**
 * Ends a stream at the first beat at which who opened it would not be let in any more, or would be somebody else: after
 * a logout, a key that was revoked, a token that expired. Clients come back, and are told why not.
 */
export function endWhenOut(
  { clock, limits }: Pick<Services, 'clock' | 'limits'>,
  request: IncomingMessage,
  response: ServerResponse,
  end: () => void = () => response.end(),
): void {
  const stands = standingOf(request);
  if (stands === undefined || response.destroyed || response.writableEnded) return;
  let cancel = () => {};
  const beat = async () => {
    if (!(await stands())) end();
    else if (!response.destroyed && !response.writableEnded) wait();
  };
  const wait = () => {
    cancel = clock.after(limits.streamKeepAliveMs, () => void beat());
  };
  response.once('close', () => cancel());
  wait();
}
