/**
 * Holds a listening socket as descriptor 3 and never accepts on it, as the watchdog does: routers that it starts accept.
 * Obeys its channel.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { FromHolder, ToHolder } from '../holder.ts';

const children = new Map<number, ChildProcess>();
const tell = (message: FromHolder) => process.send?.(message);

function start({ args, env }: Extract<ToHolder, { type: 'start' }>): void {
  const child = spawn(process.execPath, [...args], { env, stdio: ['pipe', 'pipe', 'inherit', 3] });
  const pid = child.pid ?? 0;
  children.set(pid, child);
  tell({ type: 'started', pid });
  let listens = false;
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      // Which agents there are is known before or after it listens.
      if (line.includes('"the router listens"')) listens = true;
      if (listens) tell({ type: 'listens', pid });
      listens = false;
      if (/"level":[456]0/.test(line)) console.log(line.slice(0, 500));
    });
  }
  child.once('exit', (code, signal) => {
    children.delete(pid);
    tell({ type: 'exited', pid, code, signal });
  });
}

process.on('message', (order: ToHolder) => {
  if (order.type === 'start') start(order);
  else children.get(order.pid)?.kill(order.signal);
});
process.on('disconnect', () => {
  for (const child of children.values()) child.kill('SIGKILL');
  process.exit(0);
});
