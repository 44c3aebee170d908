/** For a process that something else ended with SIGKILL, which tells nobody why. */
export const killedRemedy =
  'ended by SIGKILL, probably because the memory was used up: raise spec.runtime.resources.limits.memory';
