import { aptFolder } from "../core/apt.ts";
import type { Script } from "../core/build-script.ts";
import type { ImageSpec } from "../core/image-spec.ts";

const build = "/workspace/.build";
/** Where a tree grows that is frozen as a root: the workspace itself. What lies under a dot goes before that. */
const tree = "/workspace";

/** Apt of the machine, with folders of its own and nothing installed: it finds all that packages depend on. */
export const aptConfig = `Dir::Etc "${aptFolder}/";
Dir::Etc::main "apt.conf";
Dir::Etc::parts "/dev/null";
Dir::State "${build}/state/";
Dir::State::status "${build}/status";
Dir::Cache "${build}/cache/";
Dir::Log "${build}/log/";
Dir::Bin::dpkg "/usr/bin/dpkg";
APT::Sandbox::User "";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Get::Assume-Yes "true";
Acquire::Languages "none";
Acquire::Retries "3";
quiet "1";
`;
export const aptConfigPath = `${aptFolder}/builder.conf`;

/** Asked for in every image: a shell and its tools, and whom to trust. */
const everywhere = ["?essential", "ca-certificates"];

const index: Script = {
  name: "debian: index",
  text: `cd ${build}
mkdir -p state/lists/partial cache/archives/partial log apt/trusted.gpg.d apt/preferences.d apt/keys
: >status
# A source that is out of reach is apt's to warn of: what it had is missed by name below.
/usr/bin/apt-get update || true
ls state/lists/*_Packages* >/dev/null 2>&1 || {
  echo "no source of apt can be used; images.apt in the configuration names others" >&2
  exit 1
}
for least; do
  name=\${least%%>=*}
  least=\${least#*>=}
  found=$(apt-cache policy "$name" | sed -n 's/^  Candidate: //p' | grep -vxF '(none)' || true)
  if ! dpkg --compare-versions "\${found:-0}" ge "$least"; then
    echo "this needs $name $least or newer, and the sources of apt have \${found:-none}; images.apt in the configuration names others" >&2
    exit 1
  fi
done`,
};

const download: Script = {
  name: "debian: download",
  text: `cd ${build}
set -- "$@"
if apt-cache show usr-is-merged >/dev/null 2>&1; then set -- usr-is-merged "$@"; fi
/usr/bin/apt-get install --download-only -- "$@"`,
};

const unpack: Script = {
  name: "debian: unpack",
  text: `cd ${tree}
mkdir -p usr/bin usr/sbin usr/lib var/lib/dpkg etc/alternatives
for name in bin sbin lib; do ln -s usr/$name $name; done
for name in lib32 lib64 libx32; do mkdir usr/$name; ln -s usr/$name $name; done
for deb in ${build}/cache/archives/*.deb; do
  basename "$deb" .deb
  dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink --no-same-owner --delay-directory-restore \\
    --exclude=./usr/share/man --exclude=./usr/share/info --exclude=./usr/share/lintian
  { dpkg-deb --field "$deb"; echo "Status: install ok installed"; echo; } >>var/lib/dpkg/status
done
find usr/share/doc -type f ! -name copyright -delete
for name in lib32 libx32; do rmdir usr/$name 2>/dev/null && rm $name; done
find . -path ./.build -prune -o ! -type l ! -perm -a+r -exec chmod a+r {} +
find . -path ./.build -prune -o -type d ! -perm -u+rwx,go+rx -exec chmod u+rwx,go+rx {} +`,
};

/** What scripts of packages would link by update-alternatives: read from them, and none is run. Of a link the highest priority counts. */
const alternatives: Script = {
  name: "debian: alternatives",
  text: `cd ${tree}
for deb in ${build}/cache/archives/*.deb; do
  dpkg-deb --ctrl-tarfile "$deb" | tar -xO ./postinst 2>/dev/null || true
  echo
done | perl -0777 -ne '
  s/\\\\\\n/ /g;
  my %best;
  while (/update-alternatives\\b[^;\\n]*?--install\\s+([^\\s\\x24]+)\\s+([^\\s\\x24]+)\\s+([^\\s\\x24]+)\\s+(\\d+)([^;\\n]*)/g) {
    my ($link, $name, $path, $priority, $rest) = ($1, $2, $3, $4, $5);
    next unless -e ".$path";
    next if $best{$link} && $best{$link}[2] >= $priority;
    $best{$link} = [$name, $path, $priority];
    while ($rest =~ /--slave\\s+([^\\s\\x24]+)\\s+([^\\s\\x24]+)\\s+([^\\s\\x24]+)/g) {
      $best{$1} = [$2, $3, $priority] if -e ".$3";
    }
  }
  for my $link (sort keys %best) {
    my ($name, $path) = @{$best{$link}};
    next if $name =~ m{/} || $link !~ m{^/(usr|etc|bin|sbin|lib)/} || -e ".$link" || -l ".$link";
    symlink $path, "etc/alternatives/$name";
    symlink "/etc/alternatives/$name", ".$link" and print "$link -> $path\\n";
  }
'`,
};

/** What sandboxes have of their own is not seen of an image, and what made it has no place in it. */
export const clean: Script = {
  name: "clean",
  text: `cd ${tree}
rm -rf .build .caisson boot dev home lost+found media mnt proc root run sys tmp workspace`,
};

/** The tree of packages, whose own programs then do what is left. */
export function debianScripts({ debian, pip, npm }: ImageSpec): Script[] {
  const least = debian.filter((word) => word.includes(">="));
  const words = [...everywhere, ...debian.map((word) => word.replace(/>=.*$/, ""))];
  if (pip.length > 0) words.push("python3", "python3-pip");
  if (npm.length > 0) words.push("npm");
  return [{ ...index, words: least }, { ...download, words }, unpack, alternatives, clean];
}
