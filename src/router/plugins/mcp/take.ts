import type { IncomingHttpHeaders } from 'node:http';
import {
  isNotification,
  isResponse,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcResponse,
} from '#mcp/jsonrpc.ts';
import type { McpSurface } from '#routing/surface.ts';
import { callWith } from '../../mcp/agent-call.ts';
import type { Speaker } from '../../mcp/inbound.ts';
import { readRequestId } from '../../mcp/server-requests.ts';
import type { Services } from '../../services.ts';
import { collect } from '../../upstream/collect.ts';
import { type InFlight, inFlightKey, toRunning } from './in-flight.ts';

export interface TakeContext {
  readonly services: Services;
  readonly inFlight: InFlight;
  readonly surface: McpSurface;
}

interface Said {
  readonly speaker: Speaker;
  readonly headers: IncomingHttpHeaders;
}

/** Takes messages that nobody waits for. What they concern may be gone: that is no error. */
export async function take(context: TakeContext, said: Said, message: JsonRpcMessage): Promise<void> {
  if (said.speaker.era !== 'sessions') return;
  if (isResponse(message)) await takeAnswer(context, said, message);
  else if (isNotification(message) && message.method === 'notifications/cancelled')
    await takeCancel(context, said, message);
}

/** The client's answer goes to the agent and the instance that its id names. */
async function takeAnswer(
  { services, surface }: TakeContext,
  said: Said,
  message: JsonRpcResponse,
): Promise<void> {
  const session = said.speaker.era === 'sessions' ? said.speaker.session?.key : undefined;
  if (session === undefined) return;
  const asked = readRequestId({ keys: services.keys, session }, message.id);
  if (asked === undefined || !surface.agents.includes(asked.agent)) return;
  const call = callWith(`${surface.namespace}/${asked.agent}`, { ...message, id: asked.id }, said);
  await collect(services.sender, call, { maxBytes: services.limits.answerBytes }).catch(() => undefined);
}

async function takeCancel(context: TakeContext, said: Said, message: JsonRpcNotification): Promise<void> {
  const { services, inFlight } = context;
  const { answerBytes: maxBytes } = services.limits;
  const running = inFlight.find(inFlightKey(said.speaker, message.params?.['requestId']));
  const told = running === undefined ? agentsThatMayRunIt(context) : [running.agent];
  await Promise.all(
    told.map((agent) => {
      const call = toRunning(callWith(agent, message, said), running);
      return collect(services.sender, { ...call, readyWaitMs: 0 }, { maxBytes }).catch(() => undefined);
    }),
  );
}

/** Another router may have sent the request on: whoever does not run it for this session takes no notice. */
function agentsThatMayRunIt({ services, surface }: TakeContext): readonly string[] {
  const { targets } = services.tables.current();
  return surface.agents
    .map((name) => `${surface.namespace}/${name}`)
    .filter((agent) => targets.get(agent)?.unavailable === undefined);
}
