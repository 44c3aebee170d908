// Loaded into a program of the product, by `node --import`: the files of a pod's service account are those of the
// folder SERVICE_ACCOUNT. The program then talks to the API as it does in a pod; with a kubeconfig it would load a
// library of 90 MB first.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const mounted = '/var/run/secrets/kubernetes.io/serviceaccount';
const moved = (path) =>
  typeof path === 'string' && path.startsWith(`${mounted}/`)
    ? process.env.SERVICE_ACCOUNT + path.slice(mounted.length)
    : path;

const { readFileSync } = fs;
const { readFile } = fs.promises;
fs.readFileSync = (path, ...rest) => readFileSync(moved(path), ...rest);
fs.promises.readFile = (path, ...rest) => readFile(moved(path), ...rest);
syncBuiltinESMExports();
