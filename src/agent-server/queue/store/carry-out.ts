import type { Answer, Operation } from './operations.ts';
import type { Retention } from './retention.ts';
import type { TaskTable } from './tasks.ts';

/** Does what is asked. Within a transaction of whoever calls. */
export function carryOut(tasks: TaskTable, retention: Retention, operation: Operation): Answer {
  const roomAfter = <T>(now: number, answer: T): T => {
    retention.makeRoom(now);
    return answer;
  };
  switch (operation.type) {
    case 'add':
      return tasks.add(operation);
    case 'begin':
      return tasks.begin(operation);
    case 'lease':
      return tasks.lease(operation);
    case 'settle':
      return roomAfter(operation.now, tasks.settle(operation));
    case 'ask':
      return tasks.ask(operation);
    case 'release':
      return tasks.release(operation);
    case 'interrupt':
      return roomAfter(operation.now, tasks.interrupt(operation));
    case 'answer':
      return tasks.answer(operation);
    case 'cancel':
      return roomAfter(operation.now, tasks.cancel(operation));
    case 'get':
      return tasks.find('id', operation.id);
    case 'getByKey':
      return tasks.find('key', operation.key);
    case 'adopt':
      return tasks.adopt(operation);
    case 'list':
      return tasks.list(operation);
    case 'unanswered':
      return tasks.unanswered(operation);
    case 'sweep':
      sweep(retention, operation.now);
      return true;
  }
}

export function sweep(retention: Retention, now: number): void {
  retention.forgetOld(now);
  retention.makeRoom(now);
}
