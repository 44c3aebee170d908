import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { systemClock } from '#kit/clock.ts';
import { openPortForward, type PodPort } from '#kube/port-forward.ts';

// Run inside the cluster's network: forwards to the pods of the argument (JSON) and prints what the first that
// answers says, and on standard error why the others did not.

const [kubeconfig = '', pods = '[]'] = process.argv.slice(2);
const forward = await openPortForward({
  file: kubeconfig,
  pods: async () => JSON.parse(pods) as PodPort[],
  clock: systemClock,
  onTrouble: (message) => console.error(message),
});
const answer = await new Promise<string>((resolve) => {
  const call = get(`http://127.0.0.1:${forward.port}/mcp`, { agent: false }, (response) =>
    resolve(text(response)),
  );
  call.once('error', (error) => resolve(`failed: ${error.message}; ${forward.lastTrouble()}`));
});
console.log(answer);
await forward.close();
