#!/bin/sh
# Generates the passwords and keys that do not exist yet, each in a volume that only the services
# that need it mount, and gives the volumes to the users of their containers. Runs as root, without
# a network.
set -eu
umask 077

SONDE=10001:10001 POSTGRES=999:999 GRAFANA=472:0
cd /volumes

# Letters and digits: fit for a URL.
password() {
  head -c 4096 /dev/urandom | tr -dc A-Za-z0-9 | head -c 32
}

make() { # file, owner; the content is on stdin
  [ -s "$1" ] || { cat >"$1.new" && mv "$1.new" "$1"; }
  chown "$2" "$1"
}

head -c 32 /dev/urandom | base64 | make hub/master-key "$SONDE"
password | make hub/owner-key "$SONDE"
password | make postgres/password "$POSTGRES"
printf 'postgres://sonde:%s@postgres:5432/sonde' "$(cat postgres/password)" |
  make hub/database-url "$SONDE"
password | make nats-config/cluster-password "$SONDE"
password | make grafana/admin-password "$GRAFANA"

chown "$SONDE" hub nats-config location-* nats-1 nats-2 nats-3
chown "$POSTGRES" postgres
chown "$GRAFANA" grafana
