import { type InvocationClaims, readClaims } from './claims.ts';
import { parseStrict } from './jws.ts';

/**
 * The claims that a token's text says; throws InvocationRejected, exactly where `readClaims(parseStrict(text))` does.
 *
 * The parts of a text that are the same in all calls of a session are read once: reading the whole of it, and writing it
 * again to see that no member stands there twice, costs more than everything else of a check. A text that is not
 * laid out as `mintInvocation` does it goes the long way.
 */
export function readClaimsText(text: string): InvocationClaims {
  return readParts(text) ?? readClaims(parseStrict(text));
}

type Head = Pick<InvocationClaims, 'typ' | 'iss' | 'aud' | 'sub' | 'caller' | 'tool' | 'scope'>;
type Tail = Pick<InvocationClaims, 'wl' | 'hop' | 'lim' | 'tls' | 'act' | 'mcp'>;

const headNames = ['typ', 'iss', 'aud', 'sub', 'caller', 'tool', 'scope'];
const tailNames = ['wl', 'hop', 'lim', 'tls', 'act', 'mcp'];

/** Parts by their text; undefined for one that goes the long way. */
const heads = new Map<string, Head | undefined>();
const users = new Map<string, InvocationClaims['usr'] | undefined>();
const tails = new Map<string, Tail | undefined>();
/** Of each; then all are forgotten. A part has a few hundred characters, a token at most 8,192 bytes. */
const mostParts = 512;

/** Any claims with which a part is a whole that can be judged. */
const whole: InvocationClaims = {
  ...{ typ: 'invocation', iss: 'ploinky-router', aud: '', sub: '', caller: '', tool: '', scope: [], bh: '' },
  ...{ usr: null, jti: '', iat: 0, exp: 0, ims: 0, wl: '', hop: 0 },
};

const hashAt = ',"bh":"';
const idAt = ',"jti":"';
const tagAt = ',"del":"';
const text43 = /^[\w-]{43}$/;
const times = /^([1-9]\d{0,11}),"exp":([1-9]\d{0,11}),"ims":(0|[1-9]\d{0,2}),/;

/**
 * No text of JSON has a quote in it that is not escaped, so what stands between two of these marks is what they say,
 * or no JSON with a brace after it; a member that stands in two parts is in none of the lists of names.
 */
function readParts(text: string): InvocationClaims | undefined {
  const hash = text.indexOf(hashAt);
  const user = hash + hashAt.length + 43;
  if (hash < 0 || !text.startsWith('","usr":', user)) return undefined;
  const id = text.indexOf(idAt, user);
  const after = id + idAt.length + 22;
  if (id < 0 || !text.startsWith('","iat":', after)) return undefined;
  const bh = text.slice(hash + hashAt.length, user);
  const jti = text.slice(id + idAt.length, after);
  const rest = text.slice(after + 8);
  const numbers = times.exec(rest);
  if (numbers === null || !text43.test(bh) || !/^[\w-]{22}$/.test(jti)) return undefined;
  const tag = rest.length - tagAt.length - 45;
  const isTagged = tag > 0 && rest.startsWith(tagAt, tag) && rest.endsWith('"}');
  const del = isTagged ? rest.slice(tag + tagAt.length, -2) : undefined;
  const last = rest.slice(numbers[0].length, isTagged ? tag : -1);
  if (!rest.endsWith('}') || (del !== undefined && !text43.test(del))) return undefined;
  const head = part(heads, text.slice(0, hash), readHead);
  const usr = part(users, text.slice(user + 8, id), readUser);
  const tail = part(tails, last, readTail);
  if (head === undefined || usr === undefined || tail === undefined) return undefined;
  const when = { iat: Number(numbers[1]), exp: Number(numbers[2]), ims: Number(numbers[3]) };
  return together(head, bh, usr, jti, when, tail, del);
}

/** In the order in which they stand: the tag of a delegation covers it. */
function together(
  { typ, iss, aud, sub, caller, tool, scope }: Head,
  bh: string,
  usr: InvocationClaims['usr'],
  jti: string,
  { iat, exp, ims }: Pick<InvocationClaims, 'iat' | 'exp' | 'ims'>,
  tail: Tail,
  del: string | undefined,
): InvocationClaims {
  const claims = { typ, iss, aud, sub, caller, tool, scope, bh, usr, jti, iat, exp, ims, ...tail };
  return del === undefined ? claims : { ...claims, del };
}

function part<T>(
  known: Map<string, T | undefined>,
  text: string,
  read: (text: string) => T | undefined,
): T | undefined {
  const found = known.get(text);
  if (found !== undefined || known.has(text)) return found;
  const made = orUndefined(() => read(text));
  if (known.size >= mostParts) known.clear();
  known.set(text, made);
  return made;
}

/** What is refused here is refused, with its reason, the long way. */
function orUndefined<T>(read: () => T | undefined): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function readHead(text: string): Head | undefined {
  const value = parseStrict(`${text}}`);
  if (Object.keys(value).join() !== headNames.join()) return undefined;
  return readClaims({ ...whole, ...value });
}

function readUser(text: string): InvocationClaims['usr'] | undefined {
  const value = parseStrict(`{"usr":${text}}`);
  if (Object.keys(value).join() !== 'usr') return undefined;
  return readClaims({ ...whole, ...value }).usr;
}

function readTail(text: string): Tail | undefined {
  const value = parseStrict(`{${text}}`);
  if (!Object.keys(value).every((name) => tailNames.includes(name))) return undefined;
  if (value['wl'] === undefined || value['hop'] === undefined) return undefined;
  readClaims({ ...whole, ...value });
  return value as unknown as Tail;
}
