export const group = 'ploinky.dev';
export const version = 'v1alpha1';
export const apiVersion = `${group}/${version}` as const;
