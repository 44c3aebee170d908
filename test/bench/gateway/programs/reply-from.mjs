// @fastify/reply-from before a backend: what most would write in Node.  reply-from.mjs PEERS PORT BACKEND_PORT
import { createRequire } from 'node:module';

const [peers, port, backend] = process.argv.slice(2);
const require = createRequire(`${peers}/package.json`);
const app = require('fastify')();
app.register(require('@fastify/reply-from'), {
  base: `http://127.0.0.1:${backend}`,
  undici: { connections: 128, pipelining: 1 },
});
app.all('/*', (_, reply) => reply.from());
await app.listen({ host: '127.0.0.1', port: Number(port) });
