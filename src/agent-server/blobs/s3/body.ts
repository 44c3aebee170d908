import type { IncomingMessage } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import { BlobError } from '../errors.ts';

/**
 * The parts of an answer's body. Throws BlobError `StoreFailed` when it breaks off, or no part comes for `idleMs`; what
 * the reader takes to look at a part does not count. The connection is free, or gone, when the reader has ended.
 */
export async function* partsOf(
  incoming: IncomingMessage,
  clock: Clock,
  idleMs: number,
): AsyncGenerator<Buffer, void> {
  const parts = (incoming as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const cancel = clock.after(idleMs, () => incoming.destroy(new Error('it fell silent')));
      const { value, done } = await parts.next().finally(cancel);
      if (done === true) return;
      yield value;
    }
  } catch (error) {
    throw new BlobError('StoreFailed', `The store broke off: ${messageOf(error)}`, { cause: error });
  } finally {
    incoming.destroy();
  }
}
