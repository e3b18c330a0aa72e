load ../support/common

# packaging/site: every link of the HTML manual leads somewhere.

setup() {
  local site=$BATS_FILE_TMPDIR/site
  needs lowdown
  [[ -e $site ]] || SOURCE_DATE_EPOCH=1800000000 "$project/packaging/site" "$site"
  cd "$site"
}

# broken_links: prints each link, image or style sheet in the pages here whose file or anchor does not exist, and
# how many there are in all. What a page contains itself, or has from the web, is not looked for.
broken_links() {
  find . -name '*.html' -print0 | perl -0ne '
    use strict; use File::Basename; our (%ids, $links);
    sub text { local $/; open my $in, "<", $_[0] or die "$_[0]: $!"; <$in> }
    sub ids { $ids{$_[0]} //= { map { $_ => 1 } text($_[0]) =~ /\bid="([^"]+)"/g } }
    chomp; my $page = $_;
    for (text($page) =~ /\b(?:href|src)="([^"]*)"/g) {
      ++$links;
      next if /^(?:https?|data):/;
      my ($file, $anchor) = /^([^#]*)(?:#(.*))?$/;
      $file = $file eq "" ? $page : dirname($page) . "/$file";
      print "$page: $_\n" if !-f $file || (defined $anchor && !ids($file)->{$anchor});
    }
    END { print "$links links\n" }'
}

@test "each link leads to a file and an anchor that exist" {
  run -0 broken_links
  assert_output --regexp '^[0-9]{3,} links$'
}

@test "there is a page for each page of the manual and each README, and the names in them are links" {
  local source sources
  for source in "$project"/man/*.scd; do
    source=${source##*/}
    [[ -s man/${source%.scd}.html ]]
    run -0 grep -F "href=\"${source%.scd}.html\"" man/index.html
  done
  lines_of sources bash -c 'cd "$1" && find README.md examples -name README.md' - "$project"
  for source in "${sources[@]}"; do [[ -s ${source%README.md}index.html ]]; done
  run -0 grep -F '<a href="rlctl.1.html"><b>rlctl</b>(1)</a>' man/rlctl-check.1.html
  run -0 grep -F '<a href="#EXIT_STATUS">EXIT STATUS</a>' man/rlctl-check.1.html
}

@test "nothing is loaded from elsewhere" {
  run -1 grep -rnE '(src|<link[^>]*href)="(https?:)?//' --include='*.html' .
  run -1 grep -nE 'url\(|@import' style.css
}

@test "a link that leads nowhere would be found" {
  mkdir "$BATS_TEST_TMPDIR/copy"
  cd "$BATS_TEST_TMPDIR/copy"
  echo '<a href="there.html#no">' >here.html
  echo '<a href="no.html"><p id="yes"><a href="#yes">' >there.html
  run -0 broken_links
  assert_line './here.html: there.html#no'
  assert_line './there.html: no.html'
  assert_line '3 links'
  assert_equal "${#lines[@]}" 3
}
