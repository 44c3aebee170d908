import { request } from 'node:http';

/** What came of an answer that may never end. */
export interface Taken {
  /** 0: there was none. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The first of it. */
  readonly text: string;
  readonly bytes: number;
  readonly ended: 'whole' | 'broken' | 'cut';
  readonly ms: number;
}

const mostKept = 1_000_000;

/** Sends a POST and takes the answer for so long; then the client goes away. */
export function takeFor(
  port: number,
  path: string,
  body: unknown,
  headers: Record<string, string>,
  ms: number,
): Promise<Taken> {
  const begun = performance.now();
  return new Promise((resolve) => {
    let [status, bytes, text] = [0, 0, ''];
    let said: Taken['headers'] = {};
    const finish = (ended: Taken['ended']) => {
      clearTimeout(timer);
      sent.destroy();
      resolve({ status, headers: said, text, bytes, ended, ms: performance.now() - begun });
    };
    const options = { host: '127.0.0.1', port, path, method: 'POST', headers, agent: false };
    const sent = request(options, (answer) => {
      status = answer.statusCode ?? 0;
      said = answer.headers;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (text.length < mostKept) text += chunk.toString('latin1');
      });
      answer.on('end', () => finish('whole'));
      answer.on('error', () => finish('broken'));
    });
    const timer = setTimeout(() => finish('cut'), ms);
    sent.on('error', () => finish('broken'));
    sent.end(JSON.stringify(body));
  });
}
