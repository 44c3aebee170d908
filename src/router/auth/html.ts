import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { writeText } from '../page.ts';

const style = `
:root{color-scheme:light dark;--ground:#f4f5f7;--card:#fff;--ink:#1b1f27;--soft:#5b6472;--line:#d5d9e0;--edge:#7b8494;--accent:#2450c8;--on:#fff;--bad:#a3180f;--wash:#fdecea}
@media(prefers-color-scheme:dark){:root{--ground:#12151b;--card:#1b2029;--ink:#e8ebf0;--soft:#9aa4b3;--line:#343c49;--edge:#778396;--accent:#8fb0ff;--on:#10131a;--bad:#ffb4ab;--wash:#3a1f1d}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{width:100%;max-width:25rem;background:var(--card);border:1px solid var(--line);border-radius:14px;padding:2rem;box-shadow:0 8px 30px #0000000f}
.brand{margin:0 0 1.25rem;font-size:.85rem;font-weight:600;letter-spacing:.08em;text-transform:uppercase;color:var(--soft)}
h1{margin:0 0 .25rem;font-size:1.5rem;line-height:1.25}
p{margin:.25rem 0 1rem;color:var(--soft)}
code{font-size:.9em;overflow-wrap:anywhere}
label{display:block;margin:1rem 0 .3rem;font-weight:600}
input{width:100%;padding:.65rem .75rem;font:inherit;color:inherit;background:var(--ground);border:1px solid var(--edge);border-radius:8px}
button,.button{display:block;width:100%;margin-top:1.25rem;padding:.7rem;font:inherit;font-weight:600;text-align:center;text-decoration:none;color:var(--on);background:var(--accent);border:1px solid var(--accent);border-radius:8px;cursor:pointer}
button.quiet{margin-top:.75rem;color:var(--ink);background:transparent;border-color:var(--edge)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.error{margin:1rem 0 0;padding:.7rem .85rem;color:var(--bad);background:var(--wash);border-radius:8px}
dl{display:grid;grid-template-columns:auto 1fr;gap:.4rem 1.25rem;margin:1.25rem 0 0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
`.trim();

const styleHash = createHash('sha256').update(style).digest('base64');

/** Nothing but these pages' own style and forms to this origin. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const;

/** A page that is a card in the middle; `content` is HTML. */
export function writePage(
  response: ServerResponse,
  status: number,
  { title, content }: { readonly title: string; readonly content: string },
  more: Readonly<Record<string, string>> = {},
): void {
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} · Ploinky</title>
<style>${style}</style>
</head>
<body>
<main>
<div class="brand">Ploinky</div>
<h1>${escapeHtml(title)}</h1>
${content}
</main>
</body>
</html>
`;
  writeText(response, status, page, { ...headers, ...more });
}

export interface LoginForm {
  readonly token: string;
  readonly returnTo: string;
  /** One of ours. */
  readonly error?: string;
  readonly username?: string;
}

export function loginContent({ token, returnTo, error, username = '' }: LoginForm): string {
  return `${leadsTo(returnTo)}
${alert(error)}
<form method="post" action="/auth/login">
${hidden({ csrf: token, returnTo })}
<label for="username">User name</label>
<input id="username" name="username" value="${escapeHtml(username)}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="255" required autofocus>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required>
<button type="submit">Log in</button>
</form>`;
}

export function guestContent({ token, returnTo }: LoginForm): string {
  return `${leadsTo(returnTo)}
<p>You get a name of your own for an hour. Nothing is asked of you.</p>
<form method="post" action="/auth/login">
${hidden({ csrf: token, returnTo })}
<button type="submit">Continue as a guest</button>
</form>`;
}

export interface Account {
  readonly token: string;
  readonly username: string;
  readonly email: string;
  readonly roles: readonly string[];
  readonly returnTo: string;
}

export function accountContent({ token, username, email, roles, returnTo }: Account): string {
  const go = returnTo === '/' ? '' : `<a class="button" href="${escapeHtml(returnTo)}">Continue</a>`;
  return `<dl>
<dt>User</dt><dd>${escapeHtml(username)}</dd>
${email === '' ? '' : `<dt>E-mail</dt><dd>${escapeHtml(email)}</dd>`}
<dt>Roles</dt><dd>${escapeHtml(roles.join(', ') || 'none')}</dd>
</dl>
${go}
<form method="post" action="/auth/logout">
${hidden({ csrf: token, returnTo })}
<button${go === '' ? '' : ' class="quiet"'} type="submit">Log out</button>
<button class="quiet" type="submit" name="everywhere" value="true">Log out everywhere</button>
</form>`;
}

export function logoutContent(token: string): string {
  return `<p>Another site led you here. Log out only if you want to.</p>
<form method="post" action="/auth/logout">
${hidden({ csrf: token })}
<button type="submit">Log out</button>
</form>`;
}

export function loggedOutContent(): string {
  return `<p>Your session has ended, here and at every router.</p>
<a class="button" href="/auth/login">Log in again</a>`;
}

export function messageContent(message: string): string {
  return `<p class="error" role="alert">${escapeHtml(message)}</p>
<a class="button" href="/auth/login">Try again</a>`;
}

function leadsTo(returnTo: string): string {
  return returnTo === '/' ? '' : `<p>to go on to <code>${escapeHtml(returnTo.slice(0, 120))}</code></p>`;
}

function alert(error: string | undefined): string {
  return error === undefined ? '' : `<p class="error" role="alert">${escapeHtml(error)}</p>`;
}

function hidden(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`)
    .join('\n');
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
