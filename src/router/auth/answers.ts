import type { IncomingMessage, ServerResponse } from 'node:http';
import { AuthRefused } from './authenticator.ts';
import * as html from './html.ts';
import type { LoginWay } from './way.ts';

export const noStore = { 'cache-control': 'no-store' };
export const unreadable = { ok: false, error: 'send a form, or a JSON object, of at most 16 KiB' };

export function loggedOut(response: ServerResponse): void {
  html.writePage(response, 200, { title: 'You are logged out', content: html.loggedOutContent() });
}

export function wayOf(way: LoginWay | undefined): LoginWay {
  if (way !== undefined) return way;
  throw new AuthRefused({
    status: 503,
    code: 'sso_unavailable',
    description: 'this router knows no provider',
  });
}

export function loginUrl(returnTo: string, error?: string): string {
  return `/auth/login?${new URLSearchParams({ returnTo, ...(error !== undefined && { error }) })}`;
}

export function redirect(response: ServerResponse, location: string): void {
  if (response.destroyed) return;
  response.writeHead(302, { location, 'content-length': 0, ...noStore }).end();
}

/** After a form, to another site: browsers follow no redirect there, because forms of these pages go nowhere else. */
export function goOn(response: ServerResponse, location: string): void {
  const content = '<p>Your session here has ended. Now it ends at your identity provider.</p>';
  const headers = { ...noStore, refresh: `0; url=${location}` };
  html.writePage(response, 200, { title: 'Logging out', content }, headers);
}

export function isJson({ headers }: IncomingMessage): boolean {
  return headers['content-type']?.toLowerCase().startsWith('application/json') ?? false;
}

/** Who sends JSON wants JSON back, without a word of it; browsers' forms are none. */
export function wantsJson(request: IncomingMessage): boolean {
  const { accept = '' } = request.headers;
  return (accept.includes('application/json') || isJson(request)) && !accept.includes('text/html');
}

export function safeName(name: string | null | undefined): string | undefined {
  return name !== null && name !== undefined && /^[a-z0-9-]{1,63}$/.test(name) ? name : undefined;
}
