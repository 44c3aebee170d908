/** The thread of a queue that a program of these benches opens. */
import { parentPort, workerData } from 'node:worker_threads';
import { serveStore } from '#agent-server/queue/store/thread.ts';

if (parentPort !== null) serveStore(parentPort, workerData);
