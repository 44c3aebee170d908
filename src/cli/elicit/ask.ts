import { isObject } from '#kit/json.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Prompter, PromptSession, Reply } from '../prompter.ts';
import { harmless } from '../terminal.ts';
import { type Field, fieldsOf } from './fields.ts';

type Members = Record<string, unknown>;
/** As MCP has it. `cancel`: no choice was made; `decline`: the answer is no. */
type Outcome =
  | { readonly action: 'accept'; readonly content?: Members }
  | { readonly action: 'decline' | 'cancel' };

/**
 * Asks the person at the terminal what a server wants to know: questions by key, answers by the same keys. An aborted
 * signal cancels what is still to be answered.
 */
export async function askInTerminal(
  prompter: Prompter,
  inputRequests: Members,
  { asker, signal }: { readonly asker: string; readonly signal: AbortSignal },
): Promise<Members> {
  const session = prompter.open();
  const onAbort = () => session.close();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const answers: Members = {};
    for (const [key, request] of Object.entries(inputRequests)) {
      answers[key] = await askOne(session, request, asker);
    }
    return answers;
  } finally {
    signal.removeEventListener('abort', onAbort);
    session.close();
  }
}

async function askOne(session: PromptSession, request: unknown, asker: string): Promise<Outcome> {
  const { method, params } = isObject(request) ? request : {};
  if (method !== 'elicitation/create' || !isObject(params)) {
    const message = `${asker} asks for ${harmless(String(method))}, which this client did not offer`;
    throw new CliError(exitCodes.failed, message);
  }
  const text = typeof params['message'] === 'string' ? harmless(params['message']) : '';
  session.tell(`\n${asker} asks: ${text}`);
  return params['mode'] === 'url' ? askToVisit(session, params) : askForm(session, params);
}

const keys = 'Ctrl-D declines, Ctrl-C cancels.';

/** The address is shown whole and never opened by this program: the person decides. */
async function askToVisit(session: PromptSession, { url }: Members): Promise<Outcome> {
  const address = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  if (address === undefined || !/^https?:$/.test(address.protocol)) {
    session.tell(`It names no address that a browser could open: ${harmless(String(url))}. Declined.`);
    return { action: 'decline' };
  }
  session.tell(`\n  ${address.href}\n`);
  session.tell(`It leads to ${address.host}. Open it in a browser when you trust that. ${keys}`);
  const reply = await confirm(session, 'Done, go on? [y/N] ', false);
  return typeof reply === 'boolean' ? { action: reply ? 'accept' : 'decline' } : { action: reply.kind };
}

async function askForm(session: PromptSession, { requestedSchema }: Members): Promise<Outcome> {
  const fields = fieldsOf(requestedSchema);
  session.tell(fields.length === 0 ? keys : `Enter takes what is in brackets. ${keys}`);
  const content: Members = {};
  for (const field of fields) {
    const typed = await askField(session, field);
    if ('kind' in typed) return { action: typed.kind };
    if ('value' in typed) content[field.name] = typed.value;
  }
  const reply = await confirm(session, fields.length === 0 ? 'Agree? [Y/n] ' : 'Send this? [Y/n] ', true);
  if (typeof reply !== 'boolean') return { action: reply.kind };
  return reply ? { action: 'accept', content } : { action: 'decline' };
}

type Stop = Exclude<Reply, { kind: 'line' }>;

async function askField(
  session: PromptSession,
  field: Field,
): Promise<{ readonly value: unknown } | { readonly left: 'out' } | Stop> {
  session.tell(`\n${field.label}`);
  if (field.description !== undefined) session.tell(`  ${harmless(field.description)}`);
  for (const [index, { value, title }] of field.choices.entries()) {
    const about = title === value ? '' : `  ${harmless(title)}`;
    session.tell(`  ${index + 1}) ${harmless(value)}${about}`);
  }
  const { initial } = field;
  const shown =
    initial === undefined
      ? ''
      : ` [${harmless(Array.isArray(initial) ? initial.join(', ') : wordOf(initial))}]`;
  for (;;) {
    const reply = await session.ask(`${harmless(field.name)}${shown}: `);
    if (reply.kind !== 'line') return reply;
    const typed = field.read(reply.text);
    if (!('wrong' in typed)) return typed;
    session.tell(`  ${typed.wrong}`);
  }
}

function wordOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return String(value);
}

async function confirm(session: PromptSession, prompt: string, initial: boolean): Promise<boolean | Stop> {
  for (;;) {
    const reply = await session.ask(prompt);
    if (reply.kind !== 'line') return reply;
    const word = reply.text.trim().toLowerCase();
    if (word === '') return initial;
    if (['y', 'yes'].includes(word)) return true;
    if (['n', 'no'].includes(word)) return false;
    session.tell('  Type yes or no.');
  }
}
