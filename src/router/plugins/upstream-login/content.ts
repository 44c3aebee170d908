import { escapeHtml } from '../../auth/html.ts';

export interface LoginView {
  readonly agent: string;
  /** Where people log in. */
  readonly host: string;
  readonly username: string;
  /** Path of the page. */
  readonly page: string;
}

/** Somebody is about to go; `url` is where to. */
export function leaveContent({ agent, host, username }: LoginView, url: URL): string {
  return `<p>Agent <code>${escapeHtml(agent)}</code> asks ${escapeHtml(host)} for you, with an account that you have there.</p>
${facts({ 'You are': username, 'You go to': url.host })}
<a class="button" href="${escapeHtml(url.href)}" rel="noreferrer">Log in at ${escapeHtml(url.host)}</a>`;
}

export function loggedInContent({ agent, host, username, page }: LoginView): string {
  return `<p>Agent <code>${escapeHtml(agent)}</code> can ask ${escapeHtml(host)} for you. You can close this page and try again where you came from.</p>
${facts({ 'You are': username })}
<a class="button" href="${escapeHtml(page)}?again=true">Log in as somebody else</a>
<form method="post" action="${escapeHtml(page)}/end">
<button class="quiet" type="submit">Log out at ${escapeHtml(host)}</button>
</form>`;
}

export function problemContent(problem: string, page: string): string {
  return `<p class="error" role="alert">${escapeHtml(problem)}</p>
<a class="button" href="${escapeHtml(page)}?again=true">Try again</a>`;
}

function facts(named: Readonly<Record<string, string>>): string {
  const rows = Object.entries(named).map(([name, value]) => `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`);
  return `<dl>\n${rows.join('\n')}\n</dl>`;
}
