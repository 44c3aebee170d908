import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { agentServerConfigSchema } from '#api/agent-server-config.ts';
import { runOf } from '../bwrap/testing.ts';
import type { InstallStep, Workload } from '../workload.ts';
import { agentServerConfig, installConfig, standardEnvironment } from './environment.ts';

const { workload: base, view } = runOf();
const workload: Workload = {
  ...base,
  agentServer: { ...base.agentServer, env: { TOKEN: 'x', HOME: '/elsewhere' } },
  egressToken: 'run-token',
};
const step: InstallStep = {
  command: ['npm', 'install'],
  env: { EXTRA: '1' },
  egress: [],
  egressToken: 'install-token',
  timeoutSeconds: 1,
  digest: 'd',
};
const decode = (header: string | undefined) =>
  Buffer.from(header?.replace('Basic ', '') ?? '', 'base64').toString();

describe('the environment of an agent', () => {
  it('holds every name of the Ploinky contract', () => {
    const names = Object.keys(standardEnvironment(workload, view));
    for (const name of [
      'AGENT_NAME',
      'PLOINKY_AGENT_NAME',
      'PLOINKY_REPO_NAME',
      'PLOINKY_AGENT_PRINCIPAL',
      'WORKSPACE_PATH',
      'PLOINKY_WORKSPACE_ROOT',
      'PLOINKY_CWD',
      'PLOINKY_MCP_CONFIG_PATH',
      'PLOINKY_RUNTIME',
      'PLOINKY_PROFILE',
      'PLOINKY_PROFILE_ENV',
      'PLOINKY_CONTAINER_NAME',
      'PLOINKY_CONTAINER_ID',
      'PLOINKY_ROUTER_HOST',
      'PLOINKY_ROUTER_PORT',
      'PLOINKY_ROUTER_URL',
      'NODE_PATH',
      'HOME',
      'PATH',
      'PORT',
    ]) {
      assert.ok(names.includes(name), name);
    }
  });
  it('lets the Agent’s own values win', () => {
    const { env } = agentServerConfig(workload, view, 'i');
    assert.equal(env['TOKEN'], 'x');
    assert.equal(env['HOME'], '/elsewhere');
  });
  it('makes fetch use the proxy only where it leads somewhere', () => {
    assert.equal(standardEnvironment(workload, view)['NODE_USE_ENV_PROXY'], undefined);
    const open = { ...workload, egress: [{ host: 'a.test' }] };
    assert.equal(standardEnvironment(open, view)['NODE_USE_ENV_PROXY'], '1');
  });
  it('does not name certificates, which slow every Node process', () => {
    assert.equal(standardEnvironment(workload, view)['NODE_EXTRA_CA_CERTS'], undefined);
  });
});

describe('the configuration of an agent-server', () => {
  it('is one the agent-server accepts, with instance, paths and both ways out', () => {
    const config = agentServerConfigSchema.parse(agentServerConfig(workload, view, 'instance-1'));
    assert.equal(config.agent.instance, 'instance-1');
    assert.deepEqual(config.paths, { code: '/code', workspace: '/workspace' });
    assert.deepEqual(
      config.forwards.map(({ listen, target }) => [listen, target]),
      [
        [8080, 'unix:/run/ploinky/router.sock'],
        [3128, 'unix:/run/ploinky/egress.sock'],
      ],
    );
    assert.equal(decode(config.forwards[1]?.proxyAuthorization), 'default/demo:run-token');
  });
  it('names the machine’s certificates only where there is egress', () => {
    const named = ({ egress }: Pick<Workload, 'egress'>) =>
      agentServerConfig({ ...workload, egress }, view, 'i', '/ca.crt').env['NODE_EXTRA_CA_CERTS'];
    assert.equal(named({ egress: [] }), undefined);
    assert.equal(named({ egress: [{ host: 'a.test' }] }), '/ca.crt');
  });
  it('of an install step has its own credential, no router and none of the agent’s keys or values', () => {
    const options = { instance: 'i', throwawayKey: 'throwaway', caBundle: '/etc/ssl/certs/ca.crt' };
    const config = agentServerConfigSchema.parse(
      installConfig(workload, step, { ...view, deps: '/deps' }, options),
    );
    assert.deepEqual(config.keys, [{ kid: 'none', secret: 'throwaway' }]);
    assert.equal(config.forwards.length, 1);
    assert.equal(decode(config.forwards[0]?.proxyAuthorization), 'default/demo:install-token');
    assert.equal(config.env['TOKEN'], undefined);
    assert.equal(config.env['EXTRA'], '1');
    assert.equal(config.env['NODE_EXTRA_CA_CERTS'], '/etc/ssl/certs/ca.crt');
  });
});
