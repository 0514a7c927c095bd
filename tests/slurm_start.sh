#!/usr/bin/env bash
# A real Slurm of one node for the tests, with accounting and a pretended GPU, on Debian as root: bash tests/slurm_start.sh
# Called again it starts what does not run. For a machine that nobody else uses: it writes /etc/slurm.
set -euo pipefail
node=$(hostname -s)
place=/var/spool/slurm-of-tests

answers() { timeout 20 "$@" >/dev/null 2>&1; }

# wait_for SECONDS COMMAND...: until the command succeeds, or fail.
wait_for() {
  local last=$((SECONDS + $1))
  shift
  until answers "$@"; do
    [ $SECONDS -lt $last ] || { echo "Slurm did not start: $* fails" >&2; return 1; }
    sleep 0.5
  done
}

if answers sinfo --noheader; then
  echo "Slurm already runs here"
  exit
fi
if [ -e /etc/slurm/slurm.conf ] && ! grep -q '^ClusterName=tests$' /etc/slurm/slurm.conf; then
  echo "/etc/slurm/slurm.conf is that of another cluster: it is left as it is" >&2
  exit 1
fi

for program in slurmctld slurmd slurmdbd mariadbd munged; do
  if ! command -v $program >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends slurmctld slurmd slurmdbd slurm-client mariadb-server munge
    break
  fi
done

# Munge signs what the programs of Slurm tell each other.
install -d -o munge -g munge /run/munge
if [ ! -s /etc/munge/munge.key ]; then
  head -c 1024 /dev/urandom | install -o munge -g munge -m 400 /dev/stdin /etc/munge/munge.key
fi
answers munge -n || runuser -u munge -- munged
wait_for 20 munge -n

# The database of the accounting, in which `sacct` finds jobs that have ended.
install -d -o mysql -g mysql /run/mysqld
install -d -o slurm -g slurm $place $place/controller $place/node
if ! answers mariadb -e 'select 1'; then
  setsid mariadbd-safe --user=mysql >$place/database.log 2>&1 </dev/null &
fi
wait_for 60 mariadb -e 'select 1'
mariadb <<SQL
create database if not exists slurm_acct_db;
create user if not exists slurm@localhost identified by 'tests';
alter user slurm@localhost identified by 'tests';
grant all on slurm_acct_db.* to slurm@localhost;
SQL

install -d /etc/slurm
install -o slurm -g slurm -m 600 /dev/stdin /etc/slurm/slurmdbd.conf <<CONF
AuthType=auth/munge
SlurmUser=slurm
DbdHost=localhost
StorageType=accounting_storage/mysql
StorageLoc=slurm_acct_db
StorageUser=slurm
StoragePass=tests
LogFile=$place/accounting.log
PidFile=$place/accounting.pid
CONF
# No GPU is needed: Slurm counts a device, and the jobs use the CPU.
echo "Name=gpu File=/dev/zero" >/etc/slurm/gres.conf
# The node has more processors and memory than the machine (config_overrides), so that a job that asks for 8 starts.
cat >/etc/slurm/slurm.conf <<CONF
ClusterName=tests
SlurmctldHost=$node(127.0.0.1)
SlurmUser=slurm
AuthType=auth/munge
StateSaveLocation=$place/controller
SlurmdSpoolDir=$place/node
SlurmctldLogFile=$place/controller.log
SlurmctldPidFile=$place/controller.pid
SlurmdLogFile=$place/node.log
SlurmdPidFile=$place/node.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
JobAcctGatherType=jobacct_gather/linux
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
GresTypes=gpu
NodeName=$node NodeAddr=127.0.0.1 CPUs=16 RealMemory=200000 Gres=gpu:1 State=UNKNOWN
PartitionName=tests Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF

answers pidof slurmdbd || runuser -u slurm -- slurmdbd
wait_for 60 sacctmgr --noheader show cluster
# What is already there makes these fail, which changes nothing.
sacctmgr --immediate add cluster tests >/dev/null || true
sacctmgr --immediate add account tests >/dev/null || true
sacctmgr --immediate add user root account=tests >/dev/null || true
answers pidof slurmctld || runuser -u slurm -- slurmctld
answers pidof slurmd || slurmd
wait_for 60 srun --immediate=10 true
echo "Slurm runs one job on $node: $(sinfo --noheader --format='%c processors, %G, %t')"
