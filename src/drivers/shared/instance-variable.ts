/** In the environment of everything that belongs to one instance, and inherited by what that starts. */
export const instanceVariable = 'PLOINKY_INSTANCE';
