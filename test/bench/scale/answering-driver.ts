import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Driver } from '#drivers/driver.ts';
import type { Observed, Workload } from '#drivers/workload.ts';
import { MemoryDriver } from '#test/fixtures/memory-driver.ts';
import type { AgentOrder } from './agents.ts';

/**
 * The in-memory driver, whose instances are entries of a map, except that each has an agent-server that answers:
 * `agents` (agents.ts) is told to serve it before the driver says that it runs.
 */
export class AnsweringDriver extends MemoryDriver implements Driver {
  readonly #folder: string;
  readonly #agents: ChildProcess;
  readonly #sockets = new Map<string, Promise<string>>();
  readonly #waiting = new Map<string, () => void>();

  constructor(folder: string, agents: ChildProcess) {
    super();
    this.#folder = folder;
    this.#agents = agents;
    agents.on('message', (message) => {
      const { instance } = message as { instance: string };
      this.#waiting.get(instance)?.();
      this.#waiting.delete(instance);
    });
  }

  override async ensure(workload: Workload, options: { readonly start: boolean }): Promise<Observed> {
    const seen = await super.ensure(workload, options);
    const instances = await Promise.all(
      seen.instances.map(async (instance) => ({
        ...instance,
        address: `unix:${await this.#serve(workload, instance.uid)}`,
      })),
    );
    return { ...seen, instances };
  }

  #serve({ agentServer }: Workload, instance: string): Promise<string> {
    const known = this.#sockets.get(instance);
    if (known !== undefined) return known;
    const [key] = agentServer.keys;
    if (key === undefined) throw new Error('a workload without a key');
    const socket = join(this.#folder, `${instance}.sock`);
    const order: AgentOrder = { socket, instance, principal: agentServer.agent.principal, key };
    const served = new Promise<string>((resolve) => {
      this.#waiting.set(instance, () => resolve(socket));
      this.#agents.send(order);
    });
    this.#sockets.set(instance, served);
    return served;
  }
}
