import type { createHash, Hash } from 'node:crypto';
import type { MessagePort, Worker } from 'node:worker_threads';

/** What the thread is told of one upload, named by a number; all but `drop` is answered, in its order. */
export type ToHashThread =
  | { readonly type: 'update'; readonly upload: number; readonly chunks: readonly Uint8Array[] }
  | { readonly type: 'digest'; readonly upload: number }
  | { readonly type: 'drop'; readonly upload: number };

/** Hex, in answer to `digest`. */
export type FromHashThread = string | undefined;

/** MiB: it has nothing but what it is told. */
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 };

/**
 * A thread that hashes what others receive and write. It runs the source of one function: with the whole program it would
 * take five MiB more. Loads what threads need only for an agent that gets large files.
 */
export async function startHashThread(): Promise<Worker> {
  const threads = await import('node:worker_threads');
  const given = "get('node:worker_threads').parentPort, get('node:crypto').createHash";
  const source = `const get = process.getBuiltinModule; (${serveHashes})(${given});`;
  return new threads.Worker(source, { eval: true, execArgv: [], resourceLimits });
}

/** Names nothing outside of itself. Chunks are in memory that both threads see: nothing is copied. */
function serveHashes(port: MessagePort, begin: typeof createHash): void {
  const hashes = new Map<number, Hash>();
  const hashOf = (upload: number) => {
    const hash = hashes.get(upload) ?? begin('sha256');
    hashes.set(upload, hash);
    return hash;
  };
  port.on('message', (message: ToHashThread) => {
    const { type, upload } = message;
    let answer: FromHashThread;
    if (type === 'update') for (const chunk of message.chunks) hashOf(upload).update(chunk);
    if (type === 'digest') answer = hashOf(upload).digest('hex');
    if (type !== 'update') hashes.delete(upload);
    if (type !== 'drop') port.postMessage(answer);
  });
}
