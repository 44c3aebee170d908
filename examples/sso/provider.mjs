import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { html, page } from './pages.mjs';

/** The secret of the router as a client. It is for this machine alone: whoever reads the example knows it. */
export const routerClient = { id: 'ploinky', secret: 'only-for-this-machine' };

/**
 * An OpenID Connect provider of `people`, for a router at `router` and for MCP clients that register themselves.
 * Tokens for MCP servers are JWTs for the resource that a client names (RFC 8707).
 * @param {{Provider: any, issuer: string, router: string, people: readonly any[], tokenSeconds?: number, scopes?: string}} options
 * @returns {{provider: any, listener: (request: any, response: any) => void}}
 */
export function createProvider({
  Provider,
  issuer,
  router,
  people,
  tokenSeconds = 600,
  scopes = 'mcp:tools mcp:admin',
}) {
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: routerClient.id,
        client_secret: routerClient.secret,
        client_name: 'Ploinky',
        redirect_uris: [`${router}/auth/callback`],
        post_logout_redirect_uris: [`${router}/auth/logged-out`],
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    scopes: ['openid', 'offline_access', ...scopes.split(' ')],
    claims: {
      openid: ['sub'],
      profile: ['name', 'preferred_username'],
      email: ['email', 'email_verified'],
      groups: ['groups'],
    },
    // MCP clients register with the scope that they need first; what they ask for later, people decide.
    extraClientMetadata: {
      properties: ['any_scope'],
      validator: (_context, _key, _value, metadata) => {
        delete metadata.scope;
      },
    },
    findAccount: (_context, id) => accountOf(people.find((person) => person.id === id)),
    // What MCP servers may want to know is in their tokens too.
    extraTokenClaims: (_context, token) => {
      const { name, preferred_username, email, groups } = accountOf(
        people.find((person) => person.id === token.accountId),
      ).claims();
      return { name, preferred_username, email, groups };
    },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    ttl: {
      AccessToken: tokenSeconds,
      Session: 3_600,
      Grant: 3_600,
      Interaction: 600,
      RefreshToken: 3_600,
      IdToken: 600,
    },
    cookies: { keys: [randomUUID()] },
    jwks: { keys: [signingKey()] },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          scope: scopes,
          audience: resource,
          accessTokenFormat: 'jwt',
          accessTokenTTL: tokenSeconds,
        }),
      },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (context, form) => {
          context.body = page(
            'Log out',
            html`<p>End your login at this provider too?</p>` +
              `${form}<button class="main" form="op.logoutForm" name="logout" value="yes" autofocus>Log out</button>`,
          );
        },
        postLogoutSuccessSource: (context) => {
          context.body = page('Logged out', html`<p>You are logged out.</p>`);
        },
      },
    },
  });
  const others = provider.callback();
  const listener = (request, response) => {
    const uid = /^\/interaction\/([\w-]+)/.exec(request.url ?? '')?.[1];
    if (uid === undefined) others(request, response);
    else interact({ provider, people, request, response }).catch((error) => fail(response, error));
  };
  return { provider, listener };
}

/** Another one at each start: what was signed before counts no more. */
function signingKey() {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'RS256' };
}

function accountOf(person) {
  if (person === undefined) return undefined;
  const { id, name, email, groups } = person;
  return {
    accountId: id,
    claims: () => ({ sub: id, name, preferred_username: id, email, email_verified: true, groups }),
  };
}

/** The two questions of a provider: who are you, and may this program act for you. */
async function interact({ provider, people, request, response }) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  const client = await provider.Client.find(params.client_id);
  const name = client?.clientName ?? params.client_id;
  const isOwn = params.client_id === routerClient.id;
  const isAnswer = request.method === 'POST';
  if (prompt.name === 'login' && !isAnswer) return show(response, loginPage(name));
  if (prompt.name === 'login') {
    const form = await formOf(request);
    const person = people.find(
      ({ id, password }) => id === form.get('login') && password === form.get('password'),
    );
    if (person === undefined) return show(response, loginPage(name, 'Wrong name or password.'));
    return finish({ login: { accountId: person.id } });
  }
  if (!isAnswer && !isOwn) return show(response, consentPage(name, prompt.details, params.resource));
  const isDenied = isAnswer && (await formOf(request)).get('answer') === 'no';
  if (isDenied) return finish({ error: 'access_denied', error_description: 'the person said no' });
  const grant = await (grantId === undefined
    ? new provider.Grant({ accountId: session.accountId, clientId: params.client_id })
    : provider.Grant.find(grantId));
  const { missingOIDCScope, missingOIDCClaims, missingResourceScopes } = prompt.details;
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(' '));
  if (missingOIDCClaims) grant.addOIDCClaims(missingOIDCClaims);
  for (const [resource, wanted] of Object.entries(missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, wanted.join(' '));
  }
  return finish({ consent: { grantId: await grant.save() } });

  function finish(result) {
    return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  }
}

function loginPage(client, problem) {
  return page(
    'Log in',
    html`<p>to go on to <strong>${client}</strong></p>
      <form method="post">
        <label>Name <input name="login" autocomplete="username" required autofocus /></label>
        <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>
        <p class="problem" role="alert">${problem ?? ''}</p>
        <button class="main">Log in</button>
      </form>`,
  );
}

function consentPage(client, { missingResourceScopes = {}, missingOIDCScope = [] }, resource) {
  const wanted = [...Object.values(missingResourceScopes).flat(), ...missingOIDCScope].join(', ');
  return page(
    'May it act for you?',
    html`<p><strong>${client}</strong> asks for <strong>${wanted}</strong> at <strong>${String(resource ?? '')}</strong>.</p>
      <form method="post">
        <button class="main" name="answer" value="yes">Allow</button>
        <button name="answer" value="no">Refuse</button>
      </form>`,
  );
}

async function formOf(request) {
  let text = '';
  for await (const part of request) {
    text += part;
    if (text.length > 10_000) break;
  }
  return new URLSearchParams(text);
}

function show(response, body) {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  response.end(body);
}

function fail(response, error) {
  response.writeHead(error.status ?? 500, { 'content-type': 'text/plain' });
  response.end(`${error.message}\n`);
}
