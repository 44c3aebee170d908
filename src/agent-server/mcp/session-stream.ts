import type { ServerResponse } from 'node:http';
import { errorCodes, failureOf, RpcError } from '#mcp/jsonrpc.ts';
import { encodeMessage, sseHeaders } from '#mcp/sse.ts';
import type { KeptStream } from '../streams/kept-stream.ts';
import type { McpServices } from './services.ts';
import { primes, type Session } from './session.ts';

/** More for one client would only be leaks of its own. */
const streamsPerSession = 8;

/** Who asks for a stream by GET. */
export interface StreamRequest {
  readonly session: Session;
  /** See ownerOf. */
  readonly owner: string;
  readonly response: ServerResponse;
}

type Services = Pick<McpServices, 'streams' | 'sessions'>;

/** Answers with a new stream of the session itself, until either side ends it. Throws RpcError. */
export function openSessionStream({ session, owner, response }: StreamRequest, services: Services): void {
  refuseWhenStopping(services);
  const open = roomFor(session, services);
  const of = { session: session.key, owner, request: undefined, primes: primes(session) };
  const stream = services.streams.open(of);
  open.push(stream);
  stream.whenGone(() => {
    const index = open.indexOf(stream);
    if (index !== -1) open.splice(index, 1);
  });
  stream.attach(response, 0);
}

/**
 * Answers with what came after an event, on the stream that it was of. When that is forgotten: for the session's own
 * stream a new one, for a call an error in the place of its answer. Throws RpcError for an id of nobody's or of
 * another session.
 */
export function resumeStream(asked: StreamRequest, lastEventId: string, services: Services): void {
  const { session, response } = asked;
  const found = services.streams.find(session.key, lastEventId);
  if (found.kind === 'kept') {
    if (found.stream.request === undefined) toEnd(session, found.stream, services);
    found.stream.attach(response, found.cursor);
  } else if (found.kind === 'lost' && found.own) openSessionStream(asked, services);
  else if (found.kind === 'lost' && found.request !== undefined) {
    const text = 'What this call told is not kept any more, or not by this instance; it may have run';
    response.writeHead(200, sseHeaders);
    response.end(encodeMessage(failureOf(found.request, errorCodes.internal, text)));
  } else
    throw new RpcError(errorCodes.server, 'Bad Request: Last-Event-ID is not of a stream of this session');
}

/** It is the youngest of the session's streams from now on. */
function toEnd({ streams = [] }: Session, stream: KeptStream, services: Services): void {
  refuseWhenStopping(services);
  const index = streams.indexOf(stream);
  if (index !== -1) streams.push(...streams.splice(index, 1));
}

function refuseWhenStopping({ sessions }: Services): void {
  if (sessions.stopping) throw new RpcError(errorCodes.server, 'The agent-server stops');
}

/** The session's streams with room for one more: the oldest that nobody reads is forgotten. */
function roomFor(session: Session, { streams }: Services): KeptStream[] {
  session.streams ??= [];
  const open = session.streams;
  if (open.length < streamsPerSession) return open;
  const unread = open.find(({ hasReader }) => !hasReader);
  if (unread === undefined) {
    throw new RpcError(errorCodes.server, `A session has at most ${streamsPerSession} streams`);
  }
  streams.drop(unread);
  return open;
}
