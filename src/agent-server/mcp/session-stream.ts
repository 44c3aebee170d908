import type { ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import { encodeMessage, sseHeaders, sseKeepAlive } from '#mcp/sse.ts';
import type { Settings } from '../config/settings.ts';
import type { Session, SessionStream } from './session.ts';
import type { Sessions } from './sessions.ts';

/** More for one client would only be leaks of its own. */
const streamsPerSession = 8;

/** Answers GET /mcp with the session's stream, until either side ends it. Events carry no ids. */
export function openSessionStream(
  session: Session,
  response: ServerResponse,
  { clock, settings, sessions }: { clock: Clock; settings: Settings; sessions: Pick<Sessions, 'stopping'> },
): void {
  if (sessions.stopping) throw new RpcError(errorCodes.server, 'The agent-server stops');
  session.streams ??= [];
  const { streams } = session;
  if (streams.length >= streamsPerSession) {
    throw new RpcError(errorCodes.server, `A session has at most ${streamsPerSession} streams`);
  }
  const keepAlive = () => {
    response.write(sseKeepAlive);
    cancel = clock.after(settings.keepAliveMs, keepAlive);
  };
  let cancel = clock.after(settings.keepAliveMs, keepAlive);
  const stream: SessionStream = {
    send: (message) => void response.write(encodeMessage(message)),
    close: () => void response.end(),
  };
  response.writeHead(200, sseHeaders);
  response.flushHeaders();
  streams.push(stream);
  response.once('close', () => {
    cancel();
    const index = streams.indexOf(stream);
    if (index !== -1) streams.splice(index, 1);
  });
}
