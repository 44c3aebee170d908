const suffixes: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** A Kubernetes resource quantity (`512Mi`, `500m`, `1e3`, 2) as a number; undefined when it is none. */
export function parseQuantity(quantity: string | number): number | undefined {
  const text = String(quantity);
  const match = /^([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:([eE][-+]?[0-9]+)|([mkMGTPE]|[KMGTPE]i)?)$/.exec(text);
  if (match === null) return undefined;
  const [, digits = '', exponent = '', suffix = ''] = match;
  return Number(`${digits}${exponent}`) * (suffixes[suffix] ?? 1);
}
