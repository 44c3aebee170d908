// npm start [-- ROUTER_URL]: an identity provider at http://localhost:4000 that the router at ROUTER_URL logs people in with.
import { Provider } from 'oidc-provider';
import { people } from './people.mjs';
import { createProvider } from './provider.mjs';

const router = process.argv[2] ?? 'http://localhost:8080';
const issuer = 'http://localhost:4000';
const { listener } = createProvider({ Provider, issuer, router, people });
const { createServer } = await import('node:http');

createServer(listener).listen(4000, 'localhost', () => {
  const names = people.map(({ id, password }) => `${id} (password ${password})`).join(', ');
  process.stdout.write(`${issuer} knows ${names}.\n`);
  process.stdout.write(
    `Now, in another terminal:  ploinky up --apply team.yaml  and open ${router}/team/index.html\n`,
  );
});
