import { exit } from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import { type FromThread, serveStore, type ToThread } from '#agent-server/queue/store/thread.ts';

/** Ends when it has carried out the first transaction with an operation of the type `dieAfter`, and tells nobody. */
if (parentPort !== null) {
  const port = parentPort;
  const { dieAfter, ...data } = workerData;
  const say = port.postMessage.bind(port);
  let isLast = false;
  port.on('message', (message: ToThread) => {
    isLast = message.type === 'apply' && message.operations.some(({ type }) => type === dieAfter);
  });
  port.postMessage = (message: FromThread) => {
    if (isLast) exit();
    say(message);
  };
  serveStore(port, data);
}
