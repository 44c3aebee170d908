import { createMemoryMachine, MemoryDriver } from '#test/fixtures/memory-driver.ts';
import { testDriverContract } from './suite.ts';

testDriverContract('in-memory', async () => {
  const machine = createMemoryMachine();
  const driver = new MemoryDriver(machine);
  return {
    driver,
    reopen: async () => new MemoryDriver(machine),
    crash: async (_instance, uid) => driver.crash(uid, 7),
    cleanUp: () => driver.close(),
  };
});
