import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Access } from '#routing/access.ts';
import { closeBehindBody } from '../leave-body.ts';
import { writeJson } from '../mcp/answer.ts';
import { writeNotFound } from '../page.ts';
import { factsOf, isFromAgent } from '../request.ts';
import type { Services } from '../services.ts';
import {
  goOn,
  isJson,
  loggedOut,
  loginUrl,
  noStore,
  redirect,
  safeName,
  unreadable,
  wantsJson,
  wayOf,
} from './answers.ts';
import { askedAccess, sessionsShown } from './asked-access.ts';
import { AuthRefused } from './authenticator.ts';
import { clientAddress, trustList } from './client-address.ts';
import { isOwnPage } from './foreign-write.ts';
import { createFormTokens, type FormTokens } from './form-token.ts';
import * as html from './html.ts';
import { originFor } from './metadata/resource.ts';
import { createPasswordLogin, type PasswordLogin } from './password-login.ts';
import { type Fields, readFields } from './read-form.ts';
import { accountPath, safeReturnTo } from './return-to.ts';
import type { LoginSession } from './sessions.ts';
import { userOf } from './user-of.ts';
import type { LoginWay } from './way.ts';

export interface AuthEndpoints {
  /** Answers at one of `authPaths`; reads the body itself. */
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly access: Access;
  readonly returnTo: string;
  readonly fields: Fields;
  readonly error?: string | undefined;
}

const wrongPassword = 'Invalid username or password.';
const staleForm = 'The form was open for too long, or cookies are off. Try again.';
const foreign = { ok: false, error: 'foreign_origin' };

export function createAuthEndpoints(
  services: Services,
  ways: { readonly sso?: LoginWay } = {},
): AuthEndpoints {
  return new Endpoints(services, ways);
}

class Endpoints implements AuthEndpoints {
  readonly #services: Services;
  readonly #ways: { readonly sso?: LoginWay };
  readonly #tokens: FormTokens;
  readonly #passwords: PasswordLogin;
  readonly #trusted: ReturnType<typeof trustList>;
  readonly #handlers: Readonly<Record<string, (visit: Visit) => void | Promise<void>>>;

  constructor(services: Services, ways: { readonly sso?: LoginWay }) {
    this.#services = services;
    this.#ways = ways;
    this.#tokens = createFormTokens(services.keys, services.random, services.auth);
    this.#passwords = createPasswordLogin(services);
    this.#trusted = trustList(services.auth.trustedProxies);
    this.#handlers = {
      'GET /auth/login': (visit) => this.#showLogin(visit),
      'POST /auth/login': (visit) => this.#logIn(visit),
      'GET /auth/logout': (visit) => this.#askLogout(visit),
      'POST /auth/logout': (visit) => this.#logOut(visit),
      'GET /auth/callback': (visit) => this.#callback(visit),
      'GET /auth/token': (visit) => this.#showToken(visit),
      'POST /auth/token': (visit) => this.#showToken(visit),
      'GET /auth/account': (visit) => this.#showAccount(visit),
    };
  }

  #origin(request: IncomingMessage): string {
    return originFor(this.#services, request);
  }

  #find(request: IncomingMessage, { realm }: Access) {
    return this.#services.logins.find(request, realm);
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // What runs in sandboxes is no person, and has no business to guess passwords.
    if (isFromAgent(request)) return writeNotFound(response);
    const { path, search } = factsOf(request);
    const query = new URLSearchParams(search);
    const isWrite = request.method === 'POST' || request.method === 'PATCH';
    const { clock, limits } = this.#services;
    if (isWrite && !isOwnPage(request, this.#services)) {
      closeBehindBody({ request, response }, clock);
      return writeJson(response, 403, foreign);
    }
    const fields = isWrite
      ? await readFields(request, clock, limits.bodyTimeoutMs)
      : new Map<string, string>();
    if (fields === undefined) closeBehindBody({ request, response }, clock);
    if (fields === undefined && path !== '/auth/token') return writeJson(response, 415, unreadable);
    const ask = (name: string) => fields?.get(name) ?? query.get(name);
    const returnTo = safeReturnTo(ask('returnTo'));
    const isMet = (access: Access) => this.#find(request, access) !== undefined;
    const isFirst = (access: Access) => isMet(access) !== (path === '/auth/login');
    const agent = safeName(ask('agent'));
    const access = askedAccess(this.#services, request, { returnTo, agent }, isFirst);
    if (path === '/auth/logged-out') return loggedOut(response);
    if (access === undefined) return writeJson(response, 404, { ok: false, error: 'auth_disabled' });
    const error = [wrongPassword, staleForm].find((known) => known === query.get('error'));
    await this.#route({ request, response, access, returnTo, fields: fields ?? new Map(), error }, path);
  }

  async #route(visit: Visit, path: string): Promise<void> {
    const { request, response } = visit;
    try {
      const handler = this.#handlers[`${request.method === 'HEAD' ? 'GET' : request.method} ${path}`];
      if (handler === undefined) writeNotFound(response);
      else await handler(visit);
    } catch (error) {
      if (!(error instanceof AuthRefused)) throw error;
      const { status, description, code } = error.details;
      if (wantsJson(request)) writeJson(response, status, { ok: false, error: code, message: description });
      else
        html.writePage(response, status, {
          title: 'Not logged in',
          content: html.messageContent(description),
        });
    }
  }

  async #showLogin(visit: Visit): Promise<void> {
    const { request, response, access, returnTo, error } = visit;
    if (this.#find(request, access) !== undefined && error === undefined) return this.#showAccount(visit);
    if (access.mode === 'sso')
      return wayOf(this.#ways.sso).begin(
        { request, response, origin: this.#origin(request) },
        access,
        returnTo,
      );
    const token = this.#tokens.issue(request, response);
    const form = { token, returnTo, ...(error !== undefined && { error }) };
    const content = access.mode === 'guest' ? html.guestContent(form) : html.loginContent(form);
    html.writePage(response, 200, { title: access.mode === 'guest' ? 'Come in' : 'Log in', content });
  }

  async #logIn(visit: Visit): Promise<void> {
    const { request, response, access, fields, returnTo } = visit;
    if (access.mode === 'sso') return redirect(response, loginUrl(returnTo));
    if (!isJson(request) && !this.#tokens.verify(request, fields.get('csrf')))
      return redirect(response, loginUrl(returnTo, staleForm));
    if (access.mode === 'guest') return this.#logInGuest(visit);
    const attempt = {
      realm: access.realm,
      username: (fields.get('username') ?? '').slice(0, 255),
      password: fields.get('password') ?? '',
      address: clientAddress(request, this.#trusted),
    };
    const result = await this.#passwords.check(attempt);
    if (response.destroyed) return;
    if ('retryAfter' in result) return this.#tooMany(visit, result.retryAfter);
    if ('wrong' in result) {
      if (wantsJson(request))
        writeJson(response, 401, { ok: false, error: 'invalid_credentials', message: wrongPassword });
      else redirect(response, loginUrl(returnTo, wrongPassword));
      return;
    }
    const { person } = result;
    const user = userOf(person);
    this.#services.logins.begin(request, response, {
      realm: access.realm,
      proof: 'password',
      user,
      rev: person.rev,
    });
    this.#loggedIn(visit, user);
  }

  #logInGuest(visit: Visit): void {
    const retryAfter = this.#passwords.countGuest(clientAddress(visit.request, this.#trusted));
    if (retryAfter > 0) {
      this.#tooMany(visit, retryAfter);
      return;
    }
    const id = `guest:${this.#services.random.bytes(9).toString('base64url')}`;
    const user = { sub: id, id, username: id, email: '', roles: ['guest'] };
    this.#services.logins.begin(visit.request, visit.response, {
      realm: visit.access.realm,
      proof: 'guest',
      user,
    });
    this.#loggedIn(visit, user);
  }

  #loggedIn({ request, response, returnTo }: Visit, user: object): void {
    if (wantsJson(request)) writeJson(response, 200, { ok: true, user, returnTo }, noStore);
    else redirect(response, returnTo === '/' ? accountPath : returnTo);
  }

  #tooMany({ request, response }: Visit, seconds: number): void {
    const more = { 'retry-after': String(seconds), ...noStore };
    const message = `Too many attempts. Try again in ${seconds} seconds.`;
    if (wantsJson(request))
      writeJson(response, 429, { ok: false, error: 'too_many_attempts', message }, more);
    else
      html.writePage(response, 429, { title: 'Wait a moment', content: html.messageContent(message) }, more);
  }

  #askLogout(visit: Visit): void | Promise<void> {
    const { request, response } = visit;
    // A link or an image of another site must not end somebody's session.
    if (isOwnPage(request, this.#services)) return this.#endSession(visit, false);
    const token = this.#tokens.issue(request, response);
    html.writePage(response, 200, { title: 'Log out?', content: html.logoutContent(token) });
  }

  #logOut(visit: Visit): void | Promise<void> {
    const { request, response, fields } = visit;
    if (!isJson(request) && !this.#tokens.verify(request, fields.get('csrf')))
      return writeJson(response, 403, { ok: false, error: 'stale_form' });
    return this.#endSession(visit, fields.get('everywhere') === 'true');
  }

  async #endSession({ request, response, access }: Visit, everywhere: boolean): Promise<void> {
    const found = this.#find(request, access);
    let location: string | undefined;
    await this.#ways.sso?.forget({ request, response, origin: this.#origin(request) });
    if (found?.session.proof === 'sso') location = await this.#ssoLogout(request, response, found.session);
    const { logins } = this.#services;
    for (const session of new Set([found?.session, ...sessionsShown(this.#services, request)]))
      if (session) await (everywhere ? logins.endAll(response, session) : logins.end(response, session));
    if (wantsJson(request)) writeJson(response, 200, { ok: true, ...(location && { location }) }, noStore);
    else if (location !== undefined && request.method === 'POST') goOn(response, location);
    else redirect(response, location ?? '/auth/logged-out');
  }

  async #ssoLogout(request: IncomingMessage, response: ServerResponse, session: LoginSession) {
    try {
      return await wayOf(this.#ways.sso).logoutUrl(
        { request, response, origin: this.#origin(request) },
        session,
      );
    } catch (error) {
      this.#services.log.warn('a provider cannot be told of a logout', { error: String(error) });
      return undefined;
    }
  }

  #callback({ request, response }: Visit): Promise<void> {
    return wayOf(this.#ways.sso).callback({ request, response, origin: this.#origin(request) });
  }

  #showToken({ request, response, access }: Visit): void {
    const found = this.#find(request, access);
    if (found === undefined) {
      writeJson(response, 401, { ok: false, error: 'not_authenticated', login: '/auth/login' }, noStore);
      return;
    }
    const { session, identity } = found;
    const token = { accessToken: null, expiresAt: session.expires, scope: '', tokenType: 'Cookie' };
    writeJson(response, 200, { ok: true, token, user: this.#shown(identity.user, session) }, noStore);
  }

  #showAccount(visit: Visit): void {
    const { request, response, access, returnTo } = visit;
    const found = this.#find(request, access);
    if (found === undefined) {
      if (wantsJson(request)) {
        writeJson(response, 401, { ok: false, error: 'not_authenticated', login: '/auth/login' }, noStore);
        return;
      }
      redirect(response, loginUrl(accountPath));
      return;
    }
    const { user } = found.identity;
    if (wantsJson(request)) {
      writeJson(response, 200, { ok: true, user: this.#shown(user, found.session) }, noStore);
      return;
    }
    const token = this.#tokens.issue(request, response);
    const { username, email, roles } = user;
    const content = html.accountContent({ token, username, email, roles, returnTo });
    html.writePage(response, 200, { title: 'You are logged in', content });
  }

  #shown(
    { id, username, email, roles }: { id: string; username: string; email: string; roles: readonly string[] },
    { realm }: LoginSession,
  ) {
    const name = this.#services.people.realm(realm)?.byId(id)?.name ?? username;
    return { id, username, name, email, roles };
  }
}
