import { RouterError } from '../errors.ts';
import { answerHeaders } from '../upstream/headers.ts';
import type { RelayOptions } from '../upstream/relay.ts';
import type { AnswerHeaders } from '../upstream/send.ts';

/**
 * How the answers of MCP servers are relayed. No redirect: clients would follow it, to wherever the agent likes. And
 * nothing compressed, which nobody asked for: it would pass those by who look into answers.
 */
export const mcpAnswers: Pick<RelayOptions, 'headers' | 'refuse'> = {
  headers: answerHeaders,
  refuse: unfit,
};

function unfit(status: number, headers: AnswerHeaders): RouterError | undefined {
  if (status >= 300 && status < 400)
    return new RouterError('AgentAnswer', `The agent answered with a redirect (HTTP ${status}).`);
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return undefined;
  return new RouterError('AgentAnswer', 'The agent compressed its answer although nobody asked for that.');
}
