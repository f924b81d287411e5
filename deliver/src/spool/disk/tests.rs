use super::*;

fn request(n: u8) -> Request {
    Request {
        path: "/p".to_owned(),
        content_type: "",
        gzip: false,
        body: vec![n; 10],
        samples: u64::from(n),
    }
}

fn samples(left: &Left) -> Vec<u64> {
    left.whole.iter().map(|found| found.size.samples).collect()
}

#[test]
fn files_are_the_owners_alone_and_are_taken_up_once_their_process_has_ended() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().join("spool");
    let (mut first, left) = Disk::open(&root, 7, "1").unwrap();
    assert_eq!(samples(&left), [0; 0]);
    let paths = [1, 2, 3].map(|n| first.write(&request(n)).unwrap().0);
    assert_eq!(rights(&paths[0]), Some(0o600));
    assert_eq!(rights(paths[0].parent().unwrap()), Some(0o700));
    // Another target, and the same one while the first lives.
    assert_eq!(samples(&Disk::open(&root, 8, "2").unwrap().1), [0; 0]);
    let (second, left) = Disk::open(&root, 7, "2").unwrap();
    assert_eq!(samples(&left), [0; 0]);
    drop((first, second));
    let (_third, left) = Disk::open(&root, 7, "3").unwrap();
    assert_eq!(samples(&left), [1, 2, 3]);
    assert_eq!(read(&left.whole[2].path).unwrap().0, request(3));
    let folders = fs::read_dir(root.join(format!("{:016x}", 7)))
        .unwrap()
        .count();
    assert_eq!(folders, 1, "those of the ended are gone");
}

#[test]
fn a_file_that_is_not_whole_is_counted_and_removed() {
    let root = tempfile::tempdir().unwrap();
    let (mut disk, _) = Disk::open(root.path(), 7, "1").unwrap();
    let paths = [1, 2, 3].map(|n| disk.write(&request(n)).unwrap().0);
    let bytes = fs::read(&paths[1]).unwrap();
    fs::write(&paths[1], &bytes[..bytes.len() - 1]).unwrap();
    fs::write(paths[2].with_extension(TEMPORARY), b"half").unwrap();
    drop(disk);
    let (_disk, left) = Disk::open(root.path(), 7, "2").unwrap();
    assert_eq!(samples(&left), [1, 3]);
    assert_eq!(left.damaged, 2);
    assert!(paths.iter().all(|path| !path.exists()));
}

#[test]
fn a_file_that_cannot_be_read_now_stays_with_its_lock_for_another_time() {
    let root = tempfile::tempdir().unwrap();
    let (mut disk, _) = Disk::open(root.path(), 7, "1").unwrap();
    let paths = [1, 2].map(|n| disk.write(&request(n)).unwrap().0);
    drop(disk);
    // A folder of that name opens and cannot be read, as a file on a disk that fails, and for root too.
    fs::rename(&paths[0], root.path().join("well")).unwrap();
    fs::create_dir(&paths[0]).unwrap();
    assert!(matches!(read(&paths[0]), Err(Unread::Now(_))));
    let (second, left) = Disk::open(root.path(), 7, "2").unwrap();
    assert_eq!((samples(&left), left.damaged), (vec![2], 0));
    drop(second);
    fs::remove_dir(&paths[0]).unwrap();
    fs::rename(root.path().join("well"), &paths[0]).unwrap();
    let (_third, left) = Disk::open(root.path(), 7, "3").unwrap();
    let mut all = samples(&left);
    all.sort_unstable();
    assert_eq!(all, [1, 2]);
}

#[test]
fn a_folder_that_others_may_look_into_is_not_used() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(format!("{:016x}", 7));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let error = Disk::open(root.path(), 7, "1").unwrap_err().to_string();
    assert!(error.contains("alone"), "{error}");
}

#[test]
fn a_folder_that_others_can_change_is_not_used_unless_each_has_only_what_is_his_there() {
    let root = tempfile::tempdir().unwrap();
    let open = |mode, name| {
        fs::set_permissions(root.path(), fs::Permissions::from_mode(mode)).unwrap();
        Disk::open(root.path(), 7, name).map(drop)
    };
    for mode in [0o777, 0o775, 0o757] {
        let error = open(mode, "1").unwrap_err().to_string();
        assert!(error.contains("others can change"), "{mode:o}: {error}");
    }
    let all = root.path().join(format!("{:016x}", 7));
    assert_eq!(fs::read_dir(all).unwrap().count(), 0, "nothing stays");
    assert!(open(0o1777, "1").is_ok());
    assert!(open(0o755, "2").is_ok());
}

#[test]
fn what_nobody_takes_up_is_removed_after_a_week_and_counted() {
    let root = tempfile::tempdir().unwrap();
    let write = |mark, name| {
        let (mut disk, _) = Disk::open(root.path(), mark, name).unwrap();
        disk.write(&request(1)).unwrap();
        disk
    };
    let age = |disk: &Disk| {
        for entry in fs::read_dir(&disk.folder).unwrap().flatten() {
            let time = SystemTime::now() - OLDEST - Duration::from_secs(60);
            let file = OpenOptions::new().write(true).open(entry.path()).unwrap();
            file.set_modified(time).unwrap();
        }
    };
    let (lives, old, new) = (write(7, "1"), write(7, "2"), write(8, "3"));
    age(&lives);
    age(&old);
    let (gone, stays) = (old.folder.clone(), new.folder.clone());
    drop((old, new));
    let (_disk, left) = Disk::open(root.path(), 9, "4").unwrap();
    assert_eq!(left.old, 1);
    assert!(!gone.exists());
    assert!(stays.exists(), "not a week old");
    assert!(lives.folder.exists(), "its process lives");
}

#[test]
fn no_link_is_followed_and_no_pipe_waited_for() {
    let root = tempfile::tempdir().unwrap();
    let (mut disk, _) = Disk::open(root.path(), 7, "1").unwrap();
    let path = disk.write(&request(1)).unwrap().0;
    let elsewhere = root.path().join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert!(matches!(read(&path), Err(Unread::Damaged)));
    let next = disk.folder.join(format!("{:020}.{TEMPORARY}", 2));
    std::os::unix::fs::symlink(&elsewhere, &next).unwrap();
    assert!(disk.write(&request(2)).is_err());
    drop(disk);
    let (_disk, left) = Disk::open(root.path(), 7, "2").unwrap();
    assert_eq!((left.whole.len(), left.damaged), (0, 1));
    assert_eq!(read(&elsewhere).unwrap().0, request(1), "it is as it was");
}

#[test]
fn a_folder_whose_process_has_not_locked_it_yet_is_not_taken_up() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(format!("{:016x}", 7)).join(".1");
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(folder.parent().unwrap(), fs::Permissions::from_mode(0o700)).unwrap();
    lock(&folder.join(LOCK)).unwrap();
    let _disk = Disk::open(root.path(), 7, "2").unwrap();
    assert!(folder.join(LOCK).exists());
}

#[test]
fn a_file_that_cannot_be_written_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let (mut disk, _) = Disk::open(root.path(), 7, "1").unwrap();
    fs::remove_dir_all(root.path()).unwrap();
    assert!(disk.write(&request(1)).is_err());
    assert!(!root.path().exists());
}
