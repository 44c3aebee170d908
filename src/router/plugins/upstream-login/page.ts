import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Target } from '#routing/target.ts';
import { clientMetadata } from '#wire/upstream-login.ts';
import { writePage } from '../../auth/html.ts';
import { resourceAt } from '../../auth/metadata/resource.ts';
import { type Caller, knownCaller } from '../../caller.ts';
import { writeJson } from '../../mcp/answer.ts';
import { type Page, writeNotFound } from '../../page.ts';
import { internalPaths } from '../../paths.ts';
import { factsOf, isFromAgent } from '../../request.ts';
import type { Services } from '../../services.ts';
import { type AgentSaid, askAgent } from './ask-agent.ts';
import { leaveContent, loggedInContent, problemContent } from './content.ts';

interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
  readonly caller: Caller;
  /** Path of the page. */
  readonly page: string;
  readonly query: string;
}

/**
 * `/auth/upstream/<namespace>/<agent>`: the person in front of the browser logs in at the server elsewhere that the agent
 * is, for nobody but themselves. Verifier and tokens are the agent-server's; here is nothing.
 */
export function upstreamLoginPage(services: Services): Page {
  return {
    at: internalPaths['upstream-login'],
    methods: ['GET', 'POST'],
    async serve(request, response) {
      const { resolution, search } = factsOf(request);
      if (resolution.kind !== 'upstream-login') throw new Error('no agent');
      const { target, step, page } = resolution;
      const caller = knownCaller(request);
      if (caller === undefined || !isInBrowser(request, caller)) {
        writeProblem(response, 403, notInBrowser, page);
        return;
      }
      const visit = { request, response, target, caller, page, query: search.slice(1) };
      const handler = steps[`${request.method} ${step}`];
      if (handler === undefined) writeNotFound(response);
      else await handler(services, visit);
    },
  };
}

const notInBrowser =
  'Nobody is logged in at the router here. The agent needs an auth mode in which people log in with their browser (spec.auth.mode: pwd, sso or guest).';

/** Only who is known by their browser's own session: what a key or an agent asks, somebody else can have asked for. */
function isInBrowser(request: IncomingMessage, { proof, user }: Caller): boolean {
  return !isFromAgent(request) && user !== null && proof !== undefined && inBrowser.has(proof);
}

const inBrowser: ReadonlySet<Caller['proof']> = new Set(['password', 'sso', 'guest']);

type Step = (services: Services, visit: Visit) => Promise<void>;

const steps: Readonly<Record<string, Step>> = {
  'GET ': show,
  'GET /callback': comeBack,
  'POST /end': end,
};

async function show(services: Services, visit: Visit): Promise<void> {
  const { target, caller, query, response, page } = visit;
  const isAgain = new URLSearchParams(query).has('again');
  const now = isAgain ? undefined : await askAgent(services, target, caller, { action: 'look' });
  if (now !== undefined && !('answer' in now)) return writeSaid(response, now, page);
  if (now?.answer.isLoggedIn === true) {
    const content = loggedInContent(viewOf(visit, now.answer.host));
    return writePage(response, 200, { title: 'You are logged in', content });
  }
  const redirectUri = addressOf(services, visit, '/callback');
  const document = redirectUri.startsWith('https:') ? addressOf(services, visit, '/client.json') : undefined;
  const request = { action: 'begin' as const, redirectUri, ...(document !== undefined && { document }) };
  const said = await askAgent(services, target, caller, request);
  if (!('answer' in said)) return writeSaid(response, said, page);
  const { host, url } = said.answer;
  const place = url === undefined ? null : URL.parse(url);
  if (place === null || !/^https?:$/.test(place.protocol))
    return writeProblem(response, 502, 'The agent did not say where to log in.', page);
  writePage(response, 200, { title: `Log in at ${host}`, content: leaveContent(viewOf(visit, host), place) });
}

/** The code in the address is good once, and stays in no history. */
async function comeBack(services: Services, visit: Visit): Promise<void> {
  const { target, caller, query, response, page } = visit;
  const said = await askAgent(services, target, caller, { action: 'finish', query });
  if ('answer' in said) response.writeHead(303, { location: page, 'cache-control': 'no-store' }).end();
  else writeSaid(response, said, page);
}

async function end(services: Services, visit: Visit): Promise<void> {
  const { target, caller, response, page } = visit;
  const said = await askAgent(services, target, caller, { action: 'end' });
  if ('answer' in said) response.writeHead(303, { location: page, 'cache-control': 'no-store' }).end();
  else writeSaid(response, said, page);
}

function viewOf({ target, caller, page }: Visit, host: string) {
  return { agent: target.name, host, username: caller.user?.username ?? '', page };
}

function addressOf(services: Services, { request, page }: Visit, step: string): string {
  return resourceAt(request, services.auth, factsOf(request), `${page}${step}`).url;
}

function writeSaid(response: ServerResponse, said: AgentSaid, page: string): void {
  if ('problem' in said) writeProblem(response, said.status, said.problem, page);
}

function writeProblem(response: ServerResponse, status: number, problem: string, page: string): void {
  writePage(response, status, { title: 'Not logged in', content: problemContent(problem, page) });
}

/** What an authorization server reads that takes the address of this document for a client's id. Nothing of it is secret. */
export function upstreamClientPage(services: Services): Page {
  return {
    at: internalPaths['upstream-client'],
    methods: ['GET'],
    serve(request, response) {
      const { resolution, path } = factsOf(request);
      if (resolution.kind !== 'upstream-client') throw new Error('no agent');
      const at = (step: string) =>
        resourceAt(request, services.auth, factsOf(request), `${resolution.page}${step}`).url;
      const client = {
        client_id: at(path.slice(resolution.page.length)),
        ...clientMetadata(at('/callback')),
      };
      writeJson(
        response,
        200,
        { ...client, token_endpoint_auth_method: 'none' },
        { 'cache-control': 'max-age=300' },
      );
    },
  };
}
