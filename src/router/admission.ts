import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Gate } from './auth/gate.ts';
import type { Guard } from './guard.ts';
import { closeBehindBody } from './leave-body.ts';
import { writeJson } from './mcp/answer.ts';
import type { Observe } from './observe.ts';
import { answerError } from './reply.ts';
import type { Services } from './services.ts';

export interface AdmissionOptions {
  readonly services: Services;
  readonly guard: Guard;
  readonly gate: Gate;
  readonly observe: Observe;
  readonly nextId: () => string;
}

interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Goes on with a request that may come in, at once where it can. Whatever becomes of it, it is observed. */
export type Admit = (arrival: Arrival, surface: string, goOn: () => void) => void;

export function createAdmission({ services, guard, gate, observe, nextId }: AdmissionOptions): Admit {
  return (arrival, surface, goOn) => {
    const { request, response } = arrival;
    const begun = services.clock.monotonic();
    response.on('close', () =>
      observe({ id: nextId(), request, surface, status: response.statusCode, begun }),
    );
    const refused = guard(request);
    if (refused !== undefined) {
      closeBehindBody(arrival, services.clock);
      writeJson(response, 403, { error: refused });
      return;
    }
    const entered = gate(request, response);
    if (entered === true) goOn();
    else if (entered !== false)
      entered
        .then((isIn) => isIn && !response.destroyed && goOn())
        .catch((error: unknown) => answerError(services, response, undefined, error));
  };
}
