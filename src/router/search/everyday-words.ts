import { stem } from './words.ts';

/** Stems by the stem of a word that stands for the same. */
export type EverydayWords = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Words that people and tools use for the same thing: those of one line stand for each other, at a lower
 * weight than themselves. English, of the domains that tools are mostly of; a word may be in several lines.
 */
const groups = `
add create make new start insert set register open generate build
append add
delete remove erase drop discard destroy clear trash throw wipe
show list get read view display see print look open
find search look locate query where lookup
change update edit modify alter set adjust
replace change edit
stop cancel end terminate kill abort halt close disable
cancel delete remove void
start run launch execute begin trigger
restart reboot
undo revert rollback back restore reset
send post write tell deliver submit share
save write store keep export
load import read
rename move
move transfer shift reschedule
copy duplicate clone
join merge combine bring
split separate
compare difference diff
convert turn transform change
give assign grant
take accept
allow grant permission access let
connect link attach
check test verify inspect health
wait watch monitor notify
mute silence quiet snooze disturb
remind reminder notification alert
warn warning alert alarm
approve accept confirm yes
decline reject refuse no
count number many amount
latest newest recent last current
now current
earlier previous before history past last
fast slow time duration
slow long slowest performance
big large size huge
small tiny reduce compress shrink
enlarge upscale bigger
whole entire full complete all
together group combine
automatically automatic auto
repeat recurring recurrence every weekly daily weekday monthly
today day date now
tomorrow day date
week weekend day
folder directory
file document
tree hierarchy structure recursive
drive disk volume storage space
full free used usage
zip unzip archive compress extract unpack pack
executable permission mode chmod
permission right privilege access
text content word
mention contain match inside
picture photo image pic drawing
draw paint generate illustration picture
logo watermark
screenshot picture page
recording audio voice speech sound
speak spoken speech say aloud loud
subtitle caption transcript transcribe
movie video clip
mail email message
message mail post chat
newsletter mailing subscription unsubscribe
holiday vacation leave away absent office
appointment event meeting calendar
meeting event call
lunch dinner event
calendar schedule agenda
guest attendee participant invitee people
invite invitation guest
busy available free
thumb emoji reaction smiley like
people person user member guest recipient
boss colleague user person
team group channel
site website web page homepage
page website url
link url address
up reachable alive running available uptime
down unreachable outage incident
certificate tls ssl
owner own registration
domain host dns
google search web
headline news article
paper academic article study research
restaurant business place shop
near close nearby local
money payment fund amount balance
euro dollar pound yen currency
price cost amount
pay payment bill invoice
bill invoice
unpaid open due overdue
refund return money back
discount coupon voucher promotion
chargeback dispute
customer client buyer
plan subscription
earnings balance payout
bank account
database sql table
row record entry
column field
block blocking lock wait
backup back dump
user customer account
branch fork
repository repo project
commit change
uncommitted untracked unstaged status
bug issue defect problem
broke broken bug introduced fail
wrote write author changed
ticket issue task story
done resolved closed finished
spent time log
hour time duration
comment note
server host node
memory ram resource
shell command terminal exec
container pod
deploy install rollout release
revision version release
replica instance copy scale
secret password credential
log logs error
graph chart dashboard panel
metric measure statistics
oncall duty schedule
rain snow wind sun storm hot cold warm weather forecast
warm cold temperature degree
air pollution pollutant smog
sunrise sunset sun
translate translation language say
german french spanish italian japanese chinese english russian portuguese korean arabic language
spelling grammar mistake typo
formal formality style tone
reword rephrase rewrite paraphrase
gps location position exif
location place city where
fix correct repair
`;

/** By stem: the stems of the other words of its lines. */
export const everydayWords: EverydayWords = readGroups(groups);

function readGroups(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const line of text.trim().split('\n')) {
    const stems = line.split(' ').map(stem);
    for (const word of stems) {
      const others = found.get(word) ?? new Set();
      for (const other of stems) if (other !== word) others.add(other);
      found.set(word, others);
    }
  }
  return found;
}
