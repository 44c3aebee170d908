import { isIP } from 'node:net';
import type { Target } from './decide.ts';
import { EgressRefusal } from './errors.ts';

/** `host:port` of a CONNECT request (RFC 9110, section 9.3.6). The port must be there. */
export function parseAuthority(text: string): Target {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/?#@\s]+)):(\d{1,5})$/.exec(text) ?? [];
  return checkTarget(bracketed ?? plain, Number(port), text);
}

/** The target of an absolute-form request (RFC 9112, section 3.2.2). Only plain http: https goes through CONNECT. */
export function parseAbsoluteForm(
  text: string,
): Target & { readonly path: string; readonly authority: string } {
  if (!/^http:\/\//i.test(text) || !URL.canParse(text)) {
    throw new EgressRefusal(
      'BadRequest',
      'this is a proxy: send CONNECT host:port, or an absolute http:// URL',
    );
  }
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') {
    throw new EgressRefusal('BadRequest', 'a URL with a user or password in it is refused');
  }
  const target = checkTarget(url.hostname.replace(/^\[|\]$/g, ''), Number(url.port || '80'), text);
  return { ...target, path: `${url.pathname}${url.search}`, authority: url.host };
}

function checkTarget(host: string | undefined, port: number, text: string): Target {
  const isName = host !== undefined && /^[A-Za-z0-9._-]{1,253}$/.test(host) && !isNumberLike(host);
  if (host === undefined || !(isName || isIP(host) !== 0) || !(port >= 1 && port <= 65_535)) {
    throw new EgressRefusal(
      'BadRequest',
      `"${text.slice(0, 300)}" is not a host name or address with a port`,
    );
  }
  return { host, port };
}

/** `127.1`, `2130706433`, `0x7f.1`: resolvers read them as addresses that no rule was checked against. */
function isNumberLike(host: string): boolean {
  const last = host.replace(/\.$/, '').split('.').at(-1) ?? '';
  return isIP(host) === 0 && /^(\d+|0x[0-9a-f]*)$/i.test(last);
}
