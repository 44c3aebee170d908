import { isIP, isIPv4, isIPv6 } from 'node:net';

const dateTime = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;
const duration = /^[+-]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$|^0$/;

const formats: Readonly<Record<string, (value: string) => boolean>> = {
  'date-time': (value) => dateTime.test(value) && !Number.isNaN(Date.parse(value)),
  date: (value) => /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)),
  duration: (value) => duration.test(value),
  ipv4: isIPv4,
  ipv6: isIPv6,
  ip: (value) => isIP(value) !== 0,
  cidr: (value) => isCidr(value),
  uuid: (value) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(value),
  byte: (value) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value),
  uri: (value) => URL.canParse(value),
};

/** The format's name when `value` does not have it; undefined when it has, or when the format is not one that is checked. */
export function formatProblem(format: string, value: string): string | undefined {
  const check = Object.hasOwn(formats, format) ? formats[format] : undefined;
  return check === undefined || check(value) ? undefined : format;
}

function isCidr(value: string): boolean {
  const [address = '', bits = ''] = value.split('/');
  const family = isIP(address);
  return family !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}
